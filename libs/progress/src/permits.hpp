#pragma once
#include <list>
#include <memory>

#include "kube/client/clock.hpp"

namespace progress {

/// Lets a number of tasks run at a time, in the order of their requests. Thread rule: one thread.
class Permits {
public:
    explicit Permits(std::size_t count);
    ~Permits();
    Permits(const Permits&) = delete;
    Permits& operator=(const Permits&) = delete;

    /// Released by its destruction, which may be after that of the Permits.
    using Permit = std::shared_ptr<void>;
    /// Returns null at `deadline`.
    net::Task<Permit> take(kube::Clock& clock, kube::SteadyTime deadline);

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace progress
