#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>

#include "net/async.hpp"

namespace net {

/// Ends early when the coroutine is cancelled.
Task<> sleep_for(std::chrono::milliseconds duration);

/// Wakes one loop: a worker that waits for work or for a point in time, whichever comes first. Calls before
/// the wait are remembered; several fold into one. Thread rule: as its executor.
class Wakeup {
public:
    explicit Wakeup(const boost::asio::any_io_executor& executor);
    ~Wakeup();
    Wakeup(const Wakeup&) = delete;
    Wakeup& operator=(const Wakeup&) = delete;

    void notify();
    /// True: notified; false: the time came, or the wait was cancelled. One waiter at a time.
    Task<bool> wait_until(std::chrono::steady_clock::time_point time);
    Task<bool> wait();

private:
    class Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace net
