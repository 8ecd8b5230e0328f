#include "net/process/task_group.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>

namespace net {
namespace asio = boost::asio;

TaskGroup::TaskGroup(asio::any_io_executor executor) : executor_(executor), ended_(executor) {}

void TaskGroup::start(Task<> task, OnEnd on_end) {
    if (cancelled_) return;
    const auto signal = signals_.emplace(signals_.end());
    auto at_end = [this, signal, on_end = std::move(on_end)](std::exception_ptr thrown) {
        // Asio ends a cancelled task with an exception, which is not reported.
        const bool reported = !cancelled_;
        signals_.erase(signal);
        ended_.notify();
        if (reported) on_end(thrown);
    };
    asio::co_spawn(executor_, std::move(task),
                   asio::bind_cancellation_slot(signal->slot(), std::move(at_end)));
}

void TaskGroup::cancel() {
    cancelled_ = true;
    // A task that ends erases its signal, so advance before emitting.
    for (auto at = signals_.begin(); at != signals_.end();) (at++)->emit(asio::cancellation_type::terminal);
}

Task<> TaskGroup::join() {
    cancel();
    while (!signals_.empty()) co_await ended_.wait();
}

std::string what_of(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& exception) {
        return exception.what();
    } catch (...) {
        return "unknown exception";
    }
}

}  // namespace net
