#include "reconcile/availability.hpp"

#include "kube/client/request.hpp"
#include "lifecycle/progress_deadline.hpp"

namespace controller {

kube::Async<lifecycle::Availability> read_availability(kube::ApiServer& server, RuntimeReads& reads,
                                                       api::ObjectKey lease) {
    const auto found = co_await reads.read(server, kube::resources::leases, std::move(lease));
    if (!found) co_return found.error();
    co_return *found ? lifecycle::availability_of(**found) : lifecycle::Availability();
}

}  // namespace controller
