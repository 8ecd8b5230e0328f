#pragma once
#include <chrono>

#include "kube/client/clock.hpp"

namespace admission {

/// Whether something fails, for a log that others can make go to and fro: a change is logged once a minute at
/// most, and one that lasts with the first note after that.
class RareTransitions {
public:
    /// Once per attempt. True: it is to be logged.
    bool note(bool fails, kube::SteadyTime now) {
        if (fails == told_ || now < next_) return false;
        told_ = fails;
        next_ = now + std::chrono::minutes(1);
        return true;
    }

private:
    bool told_ = false;
    kube::SteadyTime next_ = kube::SteadyTime::min();
};

}  // namespace admission
