#pragma once
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "admission/handler.hpp"
#include "admission/inputs.hpp"
#include "offline/document_server.hpp"
#include "offline/input.hpp"

namespace cli {

/// What becomes of unknown fields: the words and the meaning of kubectl's --validate.
enum class FieldValidation { strict, warn, ignore };

/// What an API server with the webhooks of this project says to a request.
struct AdmissionAnswer {
    /// The message of its Status, without the name of the webhook; empty: the object is stored.
    struct Refusal {
        int code = 422;
        std::string reason = {};
        std::string message = {};
        std::vector<api::StatusCause> causes = {};
    };
    std::optional<Refusal> refusal = {};
    std::vector<std::string> warnings = {};
};

/// The way of an object into an API server: its schema, the webhooks as they are in production, in that
/// order. Reads what they look up from `server`, which must outlive it, like the pipeline. Thread rule: one
/// thread.
class OfflineAdmission {
public:
    OfflineAdmission(offline::DocumentServer& server, const runtime::Pipeline& pipeline,
                     FieldValidation validation, admission::ReviewPolicy policy = {});

    /// Admits an update of `before`, or a creation if that is nullptr.
    AdmissionAnswer admit(const offline::InputObject& known, const offline::InputObject* before);

private:
    /// "response" of the AdmissionReview that comes back.
    api::Json ask(std::string_view path, const api::Json& request);

    FieldValidation validation_;
    boost::asio::io_context context_{1};
    std::unique_ptr<kube::Clock> clock_ = kube::make_clock(context_.get_executor());
    net::Log silent_;
    admission::ReviewObserver unobserved_ = {};
    admission::RuntimeLister no_runtimes_ = {};  // all of them are looked up
    admission::InputReader facts_;
    admission::ReviewHandler handler_;
};

}  // namespace cli
