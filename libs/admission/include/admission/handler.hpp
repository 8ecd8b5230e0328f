#pragma once
#include <chrono>
#include <string_view>

#include "admission/client_limits.hpp"
#include "admission/inputs.hpp"
#include "admission/observer.hpp"
#include "admission/rare_log.hpp"
#include "admission/review_turns.hpp"
#include "admission/routes.hpp"
#include "admission/service_check.hpp"
#include "kube/client/clock.hpp"
#include "kube/client/namespaces.hpp"
#include "net/process/keyed_rate.hpp"
#include "net/process/log.hpp"
#include "net/process/semaphore.hpp"
#include "net/server/http_server.hpp"

namespace admission {

class HeldReview;

/// Returns the time for the lookups of one review: the `timeout` of its query (10 s if there is none) less a
/// second for the network, at least half of it, and 29 s at most.
std::chrono::milliseconds lookup_timeout(std::string_view target);

/// Answers admission reviews: reads the request, decodes it once, looks up the inputs, calls the route's
/// function, writes the verdict. A denial is HTTP 200; any other status means that there is no verdict.
/// Without lookups nothing is waited for. Before a denial that depends on a runtime from the watch, it reads
/// the runtime live and judges again. A review that waits for a lookup holds a permit of `lookup_permits`, if
/// there are any; a large one, or one of too many, is held as bytes and decoded again. Without a permit, a
/// review that can do without the lookup does so, and others get no verdict. Expensive reviews, by their
/// bytes or by the values of their runtime, are parsed and judged in turn, if there are `turns`; one whose
/// turn comes after its timeout gets no verdict. A TrainJob that is allowed, and whose name a Service may
/// have, waits for `services`, if there is one and a permit. Objects of other namespaces than `namespaces`
/// are denied, since their inputs cannot be read. All arguments must outlive it and its answers. Thread rule:
/// one thread.
class ReviewHandler {
public:
    ReviewHandler(const InputReader& inputs, kube::Clock& clock, ReviewObserver& observer, net::Log& log,
                  const runtime::Pipeline& pipeline = runtime::default_pipeline(),
                  kube::Namespaces namespaces = {}, ReviewPolicy policy = {},
                  net::Semaphore* lookup_permits = nullptr, ReviewTurns* turns = nullptr,
                  ServiceCheck* services = nullptr)
        : inputs_(inputs),
          clock_(clock),
          observer_(observer),
          log_(log),
          pipeline_(pipeline),
          namespaces_(std::move(namespaces)),
          policy_(std::move(policy)),
          lookup_permits_(lookup_permits),
          turns_(turns),
          services_(services) {}

    net::Task<net::HttpResponse> operator()(net::HttpRequest& request) {
        return answer_by(request, clock_.now());
    }
    /// Returns the answer to a request whose timeout counts from `came` on.
    net::Task<net::HttpResponse> answer_by(net::HttpRequest& request, kube::SteadyTime came);

private:
    class RequestRecord;
    struct Judged {
        api::Verdict verdict;
        std::optional<ServiceQuestion> service = {};  // if a warning may be missing
    };

    std::optional<net::HttpResponse> refuse_unread(const net::HttpRequest& request,
                                                   RequestRecord& record) const;
    net::Task<> take_expensive(MaybeTurn& turn) const;
    Subject subject_for(const api::AdmissionRequest& request, const Route& route, kube::SteadyTime came,
                        bool is_large);
    net::Async<ReviewInputs> look_up(const Subject& subject, InputReader::Runtime runtime,
                                     kube::SteadyTime deadline, MaybeTurn& large);
    net::Task<std::optional<Judged>> judge(HeldReview& review, const Subject& subject, std::string_view peer,
                                           kube::SteadyTime deadline, MaybeTurn& turn);
    net::Task<> look_at_service(Judged& judged, std::string_view peer);
    api::Time wall_seconds() const;
    api::Verdict verdict_on(HeldReview& review, const ReviewInputs& inputs) const;
    net::HttpResponse conclude(const Review& review, const api::Verdict& verdict, RequestRecord& record);
    /// Returns whether a live read of the runtime may change the verdict.
    bool may_be_stale(const api::Verdict& verdict, const ReviewInputs& inputs);
    api::Verdict unavailable_for(const api::Error& error);
    bool may_count_jobs(const api::AdmissionRequest& request, kube::SteadyTime now);
    void note_lookup(const api::Error* error);

    const InputReader& inputs_;
    kube::Clock& clock_;
    ReviewObserver& observer_;
    net::Log& log_;
    const runtime::Pipeline& pipeline_;
    const kube::Namespaces namespaces_;
    const ReviewPolicy policy_;
    net::Semaphore* const lookup_permits_;
    ReviewTurns* const turns_;
    ServiceCheck* const services_;
    // Any client may send reviews, so each runtime has a rate of live reads, and of counts of its jobs.
    net::KeyedRate rereads_{10, 10, most_reread_runtimes, net::KeyedRate::Beyond::empty};
    net::KeyedRate counts_of_jobs_{1, 1, most_reread_runtimes, net::KeyedRate::Beyond::empty};
    net::TokenBucket all_counts_of_jobs_{5, 5};  // of all runtimes together
    RareTransitions lookup_transitions_ = {};
};

}  // namespace admission
