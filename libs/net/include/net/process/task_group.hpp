#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <exception>
#include <functional>
#include <list>
#include <string>

#include "net/process/timer.hpp"

namespace net {

/// Runs coroutines side by side and cancels them together. join() it before the objects that they refer to
/// are destroyed. Thread rule: the one thread of the executor.
class TaskGroup {
public:
    /// Called when a task ends, with its exception; null if it returned. Not called after cancel(). It must
    /// not throw: the exception would leave the event loop.
    using OnEnd = std::function<void(const std::exception_ptr& thrown)>;

    explicit TaskGroup(boost::asio::any_io_executor executor);

    /// Does nothing after cancel().
    void start(Task<> task, OnEnd on_end);
    bool empty() const { return signals_.empty(); }
    /// Returns the number of tasks that have not ended.
    std::size_t size() const { return signals_.size(); }

    /// Cancels all tasks. The group cannot start others afterwards.
    void cancel();
    /// Cancels all tasks, and returns when the last one has ended. One caller at a time.
    Task<> join();

private:
    boost::asio::any_io_executor executor_;
    Wakeup ended_;
    std::list<boost::asio::cancellation_signal> signals_;  // one per running task
    bool cancelled_ = false;
};

/// Returns the text of a caught exception.
std::string what_of(const std::exception_ptr& thrown);

}  // namespace net
