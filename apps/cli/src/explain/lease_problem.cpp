#include "explain/lease_problem.hpp"

#include <algorithm>

namespace cli {

// Elections hand over within the duration of the lease and some seconds.
std::string lease_problem(const RelatedObjects& seen, api::Time now) {
    const api::Json& lease = seen.lease.found;
    const std::string name = to_string(seen.lease_key);
    const auto renewed = api::parse_time(lease["spec"]["renewTime"].as_string());
    const std::chrono::seconds duration(
        std::clamp<std::int64_t>(lease["spec"]["leaseDurationSeconds"].int_or(15), 15, 86'400));
    if (!renewed || now - *renewed <= 2 * duration) return "";
    const bool is_held = !lease["spec"]["holderIdentity"].as_string().empty();
    return "no reconciler leads: " + name + (is_held ? " was renewed " : " was released ") +
           format_duration(now - *renewed) + " ago";
}

}  // namespace cli
