#include "reconcile/availability.hpp"

#include "kube/client/request.hpp"

namespace controller {
namespace {

std::optional<api::Time> time_at(const api::Json& value) {
    const auto time = api::parse_time(value.as_string());
    return time ? std::optional(*time) : std::nullopt;
}

}  // namespace

kube::Async<lifecycle::Availability> read_availability(kube::ApiServer& server, RuntimeReads& reads,
                                                       api::ObjectKey lease) {
    const auto found = co_await reads.read(server, kube::resources::leases, std::move(lease));
    if (!found) co_return found.error();
    lifecycle::Availability availability;
    if (!*found) co_return availability;
    const api::Json& spec = (**found)["spec"];
    availability.since = time_at(spec["acquireTime"]);
    availability.renewed = time_at(spec["renewTime"]);
    co_return availability;
}

}  // namespace controller
