#pragma once
#include <chrono>

#include "kube/client/clock.hpp"

namespace admission {

/// The time between two lines of the log about what clients can cause at will.
inline constexpr std::chrono::minutes between_rare_lines{1};

/// Decides whether to log an event that clients can cause at will: not again before `between_rare_lines`.
class RareEvents {
public:
    /// Call it once per event. Returns whether to log it.
    bool note(kube::SteadyTime now) {
        if (now < next_) return false;
        next_ = now + between_rare_lines;
        return true;
    }

private:
    kube::SteadyTime next_ = kube::SteadyTime::min();
};

/// Decides whether to log a failure that clients can cause and end at will. A change is logged not again
/// before `between_rare_lines`; one that lasts is logged with the first attempt after that.
class RareTransitions {
public:
    /// Call it once per attempt. Returns whether to log it.
    bool note(bool fails, kube::SteadyTime now) {
        if (fails == logged_ || !changes_.note(now)) return false;
        logged_ = fails;
        return true;
    }

private:
    bool logged_ = false;
    RareEvents changes_ = {};
};

}  // namespace admission
