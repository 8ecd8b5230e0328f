#include "progress/availability.hpp"

#include "api/time.hpp"

namespace progress {
namespace {

using api::Json;

// One write of several replicas is enough.
constexpr auto just_renewed = availability_renewed_every / 2;

}  // namespace

std::optional<kube::Request> renewal(const api::ObjectKey& key, const Json& lease, bool reports_wait,
                                     kube::MicroTime now) {
    const std::string time = kube::format_micro_time(now);
    if (lease.is_null()) {
        if (reports_wait) return std::nullopt;
        const Json made =
            Json::object({{"apiVersion", "coordination.k8s.io/v1"},
                          {"kind", "Lease"},
                          {"metadata", Json::object({{"name", key.name}, {"namespace", key.ns}})},
                          {"spec", Json::object({{"acquireTime", time},
                                                 {"renewTime", time},
                                                 {"leaseDurationSeconds", availability_lasts.count()}})}});
        return kube::create(kube::resources::leases, made);
    }
    const Json& spec = lease["spec"];
    const auto renewed = api::parse_time(spec["renewTime"].as_string());
    const auto acquired = api::parse_time(spec["acquireTime"].as_string());
    // A time ahead of this clock is another replica's; this one does not wait for it.
    const bool is_recent = renewed && now - *renewed <= availability_lasts;
    // Written before that replica's clock was set, it would hold up every verdict until then.
    const bool goes_on = is_recent && acquired && *acquired - now <= availability_lasts;
    if (goes_on && !reports_wait && now - *renewed < just_renewed && *renewed <= now) return std::nullopt;
    Json changed = lease;
    changed["metadata"].erase("managedFields");
    if (!goes_on || reports_wait) changed["spec"]["acquireTime"] = time;
    if (!reports_wait) changed["spec"]["renewTime"] = time;
    changed["spec"]["leaseDurationSeconds"] = availability_lasts.count();
    return kube::replace(kube::resources::leases, changed);
}

}  // namespace progress
