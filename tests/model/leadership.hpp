#pragma once
#include <map>
#include <optional>
#include <string>

#include "kube/client/clock.hpp"
#include "kube/manager/lease_machine.hpp"

namespace model {

/// The reconcilers that may lead, by the API server's answers about the lease.
class Leadership {
public:
    /// Returns the identity of that reconciler.
    static std::string identity(int reconciler) { return "reconciler-" + std::to_string(reconciler); }

    /// Records that it was granted the lease by a request sent at that time.
    void granted(int reconciler, kube::SteadyTime sent);
    /// Records that the lease was deleted: another one may get it before it expires.
    void deleted() { deleted_ = true; }

    /// Returns the error of sending a request now; empty if there is none. `writes`: it is a write of a
    /// reconcile.
    std::string fault_of(int reconciler, bool writes, kube::SteadyTime now) const;

private:
    std::map<int, kube::SteadyTime> granted_ = {};
    std::optional<int> holder_ = {};
    bool deleted_ = false;
};

}  // namespace model
