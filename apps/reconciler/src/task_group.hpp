#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <functional>
#include <list>

#include "net/timer.hpp"

namespace reconciler {

/// Loops that run until they are cancelled. Must be joined before what they refer to is destroyed. Thread
/// rule: one thread, that of the executor.
class TaskGroup {
public:
    /// `on_bug` gets what a task throws, other than by being cancelled: loops do not throw.
    TaskGroup(boost::asio::any_io_executor executor, std::function<void(const std::string&)> on_bug)
        : executor_(executor), on_bug_(std::move(on_bug)), ended_(executor) {}

    void start(net::Task<> task) {
        const auto signal = signals_.emplace(signals_.end());
        auto on_end = [this, signal](std::exception_ptr thrown) {
            if (thrown && !cancelled_) report(thrown);
            signals_.erase(signal);
            ended_.notify();
        };
        boost::asio::co_spawn(executor_, std::move(task),
                              boost::asio::bind_cancellation_slot(signal->slot(), std::move(on_end)));
    }

    /// Cancels every task and returns when the last one has ended.
    net::Task<> join() {
        cancelled_ = true;
        // A task that ends erases its signal, so take the next one before this one is emitted.
        for (auto at = signals_.begin(); at != signals_.end();)
            (at++)->emit(boost::asio::cancellation_type::terminal);
        while (!signals_.empty()) co_await ended_.wait();
    }

private:
    void report(const std::exception_ptr& thrown) {
        try {
            std::rethrow_exception(thrown);
        } catch (const std::exception& exception) {
            on_bug_(exception.what());
        }
    }

    boost::asio::any_io_executor executor_;
    std::function<void(const std::string&)> on_bug_;
    net::Wakeup ended_;
    std::list<boost::asio::cancellation_signal> signals_;
    bool cancelled_ = false;
};

}  // namespace reconciler
