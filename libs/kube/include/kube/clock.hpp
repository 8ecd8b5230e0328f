#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "net/async.hpp"

namespace kube {

/// Monotonic: what waiting, backoff and leases are judged by.
using SteadyTime = std::chrono::steady_clock::time_point;
/// Wall clock as Kubernetes' MicroTime: only ever written for people, never decided upon.
using MicroTime = std::chrono::sys_time<std::chrono::microseconds>;

/// Time and chance for the loops of this module; tests bring a virtual one. Thread rule: used from the one
/// thread that runs its executor.
class Clock {
public:
    virtual ~Clock() = default;
    virtual SteadyTime now() const = 0;
    virtual MicroTime wall() const = 0;
    /// Returns at once for a time that has passed. Cancellation ends it with an exception, as Asio does.
    virtual net::Task<> sleep_until(SteadyTime when) = 0;
    /// In [0, 1), for jitter.
    virtual double jitter() = 0;
};

std::unique_ptr<Clock> make_clock(boost::asio::any_io_executor executor);

/// "2026-01-15T10:00:00.000000Z"
std::string format_micro_time(MicroTime time);

}  // namespace kube
