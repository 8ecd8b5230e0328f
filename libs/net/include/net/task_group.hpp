#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <exception>
#include <functional>
#include <list>
#include <string>

#include "net/timer.hpp"

namespace net {

/// Coroutines that run side by side and can be cancelled together. Must be joined before what they refer to
/// is destroyed. Thread rule: one thread, that of the executor.
class TaskGroup {
public:
    /// What the task threw; null if it returned. Not called once the group is cancelled. It must not throw:
    /// that would leave the event loop.
    using OnEnd = std::function<void(const std::exception_ptr& thrown)>;

    explicit TaskGroup(boost::asio::any_io_executor executor);

    /// Nothing happens once the group is cancelled.
    void start(Task<> task, OnEnd on_end);
    bool empty() const { return signals_.empty(); }
    /// Tasks that have not ended.
    std::size_t size() const { return signals_.size(); }

    /// For good.
    void cancel();
    /// cancel(), and returns when the last task has ended. One caller at a time.
    Task<> join();

private:
    boost::asio::any_io_executor executor_;
    Wakeup ended_;
    std::list<boost::asio::cancellation_signal> signals_;  // one per task that runs
    bool cancelled_ = false;
};

/// The text of an exception that was caught as a pointer.
std::string what_of(const std::exception_ptr& thrown);

}  // namespace net
