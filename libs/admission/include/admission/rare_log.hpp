#pragma once
#include <chrono>

#include "kube/client/clock.hpp"

namespace admission {

/// Decides whether to log a failure that clients can cause and end at will. A change is logged once a minute
/// at most; one that lasts is logged with the first attempt after that.
class RareTransitions {
public:
    /// Call it once per attempt. Returns whether to log it.
    bool note(bool fails, kube::SteadyTime now) {
        if (fails == logged_ || now < next_) return false;
        logged_ = fails;
        next_ = now + std::chrono::minutes(1);
        return true;
    }

private:
    bool logged_ = false;
    kube::SteadyTime next_ = kube::SteadyTime::min();
};

}  // namespace admission
