#pragma once
#include <list>
#include <memory>

#include "kube/client/clock.hpp"

namespace progress {

/// Lets so many things go on at a time, in the order in which they ask. Thread rule: one thread.
class Permits {
public:
    explicit Permits(std::size_t count);
    ~Permits();
    Permits(const Permits&) = delete;
    Permits& operator=(const Permits&) = delete;

    /// Given back when it is destroyed, which may be after the Permits are.
    using Permit = std::shared_ptr<void>;
    /// Returns null at `deadline`.
    net::Task<Permit> take(kube::Clock& clock, kube::SteadyTime deadline);

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace progress
