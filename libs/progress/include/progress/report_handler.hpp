#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "kube/client/clock.hpp"
#include "kube/client/namespaces.hpp"
#include "net/process/log.hpp"
#include "net/server/http_server.hpp"
#include "progress/metrics.hpp"
#include "progress/pod_authenticator.hpp"
#include "progress/refusal_log.hpp"
#include "progress/schedule.hpp"
#include "progress/status_writer.hpp"

namespace progress {

/// Answers the requests of training code, in the wire format of Kubeflow Trainer's status server: a handler
/// of net::HttpServer, which must use `refuse` and the limit `max_body_bytes`. All arguments must outlive it
/// and its answers. Requests about other namespaces than `namespaces` are forbidden. Thread rule: one thread.
class ReportHandler {
public:
    static constexpr std::size_t max_body_bytes = 64 * 1024;

    ReportHandler(PodAuthenticator& authenticator, Schedule& schedule, StatusWriter& writer,
                  kube::Clock& clock, Metrics& metrics, net::Log& log, kube::Namespaces namespaces = {});

    net::Answer answer(net::HttpRequest& request);

private:
    /// A response and its label for metrics.
    struct Verdict {
        Outcome outcome = Outcome::accepted;
        net::HttpResponse response = {};
    };
    /// A scheduled report whose answer waits for its write.
    struct Waiting {
        std::uint64_t sequence = 0;
        net::HttpResponse acceptance = {};
    };
    using Taken = std::variant<Verdict, Waiting>;

    static Verdict refused(Outcome outcome);
    Taken take(const api::ObjectKey& train_job, const Sender& sender, std::string_view body);
    net::Task<net::HttpResponse> ask_and_take(net::HttpRequest& request,
                                              PodAuthenticator::TokenReviewCall call, kube::SteadyTime came);
    net::Task<Verdict> wait_for_write(api::ObjectKey train_job, Waiting waiting);
    net::Task<net::HttpResponse> wait_and_finish(net::HttpRequest& request, api::ObjectKey train_job,
                                                 std::string pod, Waiting waiting, kube::SteadyTime came);
    net::HttpResponse finish(const net::HttpRequest& request, const api::ObjectKey& train_job,
                             const std::string& pod, Verdict verdict, kube::SteadyTime came);

    PodAuthenticator& authenticator_;
    Schedule& schedule_;
    StatusWriter& writer_;
    kube::Clock& clock_;
    Metrics& metrics_;
    RefusalLog refusals_;
    kube::Namespaces namespaces_;
};

}  // namespace progress
