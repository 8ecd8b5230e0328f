#pragma once
#include <map>
#include <optional>
#include <string>

#include "kube/clock.hpp"
#include "kube/lease_machine.hpp"

namespace faults {

/// Who may lead, as the API server's answers about the lease tell an onlooker.
class Leadership {
public:
    /// Of reconciler number so and so.
    static std::string identity(int reconciler) { return "reconciler-" + std::to_string(reconciler); }

    /// It was granted the lease by a request that it sent then.
    void granted(int reconciler, kube::SteadyTime sent);
    /// From now on, somebody may get the lease before its time.
    void deleted() { deleted_ = true; }

    /// What is wrong with its sending a request now, of a pass and no mere read if `writes`; empty if
    /// nothing.
    std::string fault_of(int reconciler, bool writes, kube::SteadyTime now) const;

private:
    std::map<int, kube::SteadyTime> granted_ = {};
    std::optional<int> holder_ = {};
    bool deleted_ = false;
};

}  // namespace faults
