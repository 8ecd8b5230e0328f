#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "net/process/async.hpp"

namespace kube {

/// Monotonic time, for waits, backoff and leases.
using SteadyTime = std::chrono::steady_clock::time_point;
/// Wall clock time as Kubernetes' MicroTime. Where it decides something or is written to objects, it comes
/// from a ServerClock.
using MicroTime = std::chrono::sys_time<std::chrono::microseconds>;

/// Time and randomness for the loops of this library; tests use a virtual one. Thread rule: the one thread
/// that runs its executor.
class Clock {
public:
    virtual ~Clock() = default;
    virtual SteadyTime now() const = 0;
    virtual MicroTime wall() const = 0;
    /// Returns at once if `when` has passed. Throws if the coroutine is cancelled, as Asio does.
    virtual net::Task<> sleep_until(SteadyTime when) = 0;
    /// Returns a random number in [0, 1).
    virtual double jitter() = 0;
};

std::unique_ptr<Clock> make_clock(boost::asio::any_io_executor executor);

/// "2026-01-15T10:00:00.000000Z"
std::string format_micro_time(MicroTime time);

}  // namespace kube
