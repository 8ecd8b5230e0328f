#pragma once
#include <optional>

#include "admission/reviews.hpp"
#include "admission/routes.hpp"
#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"
#include "net/process/keyed_rate.hpp"

namespace admission {

/// The Service that must not exist before a TrainJob's JobSet.
struct ServiceQuestion {
    api::ObjectKey service = {};
    api::Json labels_of_pods = {};  ///< small: see lifecycle::labels_of_pods()
};

/// Returns that Service if the TrainJob under review has its JobSet still to come and gives the Service its
/// own name; nullopt in all other cases.
std::optional<ServiceQuestion> service_question(const Route& route, const Review& review,
                                                const ReviewInputs& inputs);

/// Warns of a Service that has the name of a new TrainJob (`service_taken`). Both arguments must outlive it.
/// Thread rule: one thread.
class ServiceCheck {
public:
    ServiceCheck(kube::ApiServer& server, kube::Clock& clock) : server_(server), clock_(clock) {}

    /// Returns whether a Service may be looked at now, and counts the look: 100 at once, 20 a second. More
    /// are a flood, in which nobody reads warnings.
    bool may_look() { return looks_.take(clock_.now()); }

    /// Adds the warning, if there is such a Service. Waits for a second at most; what cannot be read until
    /// then is no reason for one. References must live until the coroutine ends.
    net::Task<> add_warning(const ServiceQuestion& asked, api::Verdict& verdict) const;

private:
    kube::ApiServer& server_;
    kube::Clock& clock_;
    net::TokenBucket looks_{20, 100};
};

}  // namespace admission
