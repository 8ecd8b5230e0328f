#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>

#include "net/process/async.hpp"

namespace net {

/// Returns early if the coroutine is cancelled.
Task<> sleep_for(std::chrono::milliseconds duration);

/// Wakes one waiting coroutine, by notify() or at a point in time. A notify() before the wait is remembered;
/// several count as one. Thread rule: as its executor.
class Wakeup {
public:
    explicit Wakeup(const boost::asio::any_io_executor& executor);
    ~Wakeup();
    Wakeup(const Wakeup&) = delete;
    Wakeup& operator=(const Wakeup&) = delete;

    void notify();
    /// Returns true after notify(); false at `time` or if the wait was cancelled. One waiter at a time.
    Task<bool> wait_until(std::chrono::steady_clock::time_point time);
    Task<bool> wait();

private:
    class Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace net
