#pragma once
// Admission reviews as the API server sends them, and a handler with its dependencies.
#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

#include "admission/handler.hpp"
#include "admission/inputs.hpp"
#include "admission/metrics.hpp"
#include "runtime/plugin.hpp"
#include "support/fake_api_server.hpp"
#include "support/virtual_clock.hpp"

namespace test {

inline const std::string mutate_path = "/mutate-trainer-kubeflow-org-v1alpha1-trainjob";
inline const std::string train_job_path = "/validate-trainer-kubeflow-org-v1alpha1-trainjob";
inline const std::string runtime_path = "/validate-trainer-kubeflow-org-v1alpha1-trainingruntime";
inline const std::string cluster_runtime_path =
    "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime";

/// Valid objects; the TrainJob "job" in namespace "ns" refers to the ClusterTrainingRuntime "plain".
api::Json train_job();
api::Json cluster_runtime(const std::string& name = "plain");
api::Json namespaced_runtime(const std::string& name = "plain");

/// Returns an AdmissionReview of the object's kind, with the name and namespace of the object (or of the old
/// one).
api::Json review(const std::string& operation, const api::Json& object, const api::Json& old_object = {});
net::HttpRequest post(const std::string& path, const api::Json& review);

/// The answer to a review.
struct Reply {
    net::HttpResponse http = {};
    api::Json response = {};  ///< of the AdmissionReview; null if there is none

    bool allowed() const { return response["allowed"].bool_or(false); }
    int denial_code() const { return static_cast<int>(response["status"]["code"].int_or(0)); }
    std::string message() const { return std::string(response["status"]["message"].as_string()); }
    /// Returns "field: type" of each cause.
    std::vector<std::string> causes() const;
};

/// Returns the answer, and whether it was there at once: no other handler ran in the meantime.
net::Task<net::HttpResponse> timed(net::Task<net::HttpResponse> answer, boost::asio::io_context& context,
                                   bool& at_once);

/// A ReviewHandler on a virtual clock, with a scripted API server that has the objects in `stored`.
class Fixture {
public:
    explicit Fixture(const runtime::Features& features = {}, const kube::Namespaces& namespaces = {},
                     admission::ReviewPolicy policy = {});

    Reply ask(net::HttpRequest request);
    /// Also returns whether the answer was there at once.
    Reply ask(net::HttpRequest request, bool& at_once);
    /// Asks another handler.
    Reply ask_of(admission::ReviewHandler& other, net::HttpRequest request, bool* at_once = nullptr);

    /// Stores an object in the API server, not in the cache.
    void store(const kube::Resource& resource, const api::Json& object);
    std::string metrics_text() const { return metrics.expose(); }

    boost::asio::io_context context{1};
    VirtualClock clock{context};
    FakeApiServer server{clock};
    std::vector<std::pair<std::string, api::Json>> stored = {};  ///< by path
    runtime::Pipeline pipeline;
    admission::RuntimeLister runtimes{pipeline};
    std::string log_text = {};
    net::Log log;
    net::Metrics metrics = {};
    admission::ReviewMetrics review_metrics{metrics};
    admission::ReviewTurns turns = {};
    admission::InputReader inputs;
    net::Semaphore lookup_permits{64};
    admission::ReviewHandler handler;
    std::chrono::seconds patience{60};  ///< how long ask() runs the clock
};

}  // namespace test
