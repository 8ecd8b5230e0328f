#include "api_clients.hpp"

#include <algorithm>

#include "admission/rationed_server.hpp"
#include "admission/review_turns.hpp"

namespace webhook {
namespace {

// Limit for each thread of the reads that clients without permission can cause. A review takes about a
// millisecond.
constexpr std::size_t token_reviews_at_once = 8;

admission::Ration ration_of_thread(admission::Ration ration, int threads) {
    ration.per_second /= threads;
    ration.at_once = std::max(ration.at_once / threads, 1);
    return ration;
}

}  // namespace

api::Result<ApiClients> make_api_clients(kube::Manager& manager, boost::asio::any_io_executor executor,
                                         kube::Clock& clock, const kube::ClusterConfig& config,
                                         const Settings& settings, const admission::AuthPolicy& callers) {
    auto lookups = manager.connect(executor, clock, config, admission::lookup_limits::connections);
    if (!lookups) return lookups.error();
    ApiClients clients = {.lookups = std::move(*lookups)};
    const bool callers_are_unknown = callers.audience.empty() && settings.client_ca.empty();
    if (callers_are_unknown)
        clients.lookups = admission::make_rationed(std::move(clients.lookups), clock,
                                                   ration_of_thread(admission::Ration(), settings.threads));
    if (callers.audience.empty()) return clients;
    auto reviews = manager.connect(std::move(executor), clock, config, token_reviews_at_once);
    if (!reviews) return reviews.error();
    clients.token_reviews = std::move(*reviews);
    return clients;
}

}  // namespace webhook
