#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <memory>
#include <utility>

#include "net/process/async.hpp"

namespace net {

/// Runs all handlers that are ready on this executor before it returns. Call it between two steps that may be
/// long.
inline Task<> next_turn() {
    const auto executor = co_await boost::asio::this_coro::executor;
    co_await boost::asio::post(executor, boost::asio::use_awaitable);
}

/// Runs long tasks one at a time, in the order of their requests. Before each of them, every other handler
/// that is ready runs. So a short task waits for one or two long ones, however many there are. Thread rule:
/// one thread, the one that runs the executor. May be destroyed while tasks wait; these never continue.
class Turns {
    struct Queue;
    class Waiting;

public:
    explicit Turns(boost::asio::any_io_executor executor);
    ~Turns();
    Turns(const Turns&) = delete;
    Turns& operator=(const Turns&) = delete;

    /// The next task gets its turn when this is destroyed.
    class Turn {
    public:
        explicit Turn(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}
        Turn(Turn&& other) noexcept = default;
        Turn& operator=(Turn&&) = delete;
        ~Turn();

    private:
        std::shared_ptr<Queue> queue_;
    };

    /// Throws when the wait is cancelled.
    Task<Turn> next();
    /// Returns the number of waiting tasks.
    std::size_t waiting() const;

private:
    std::shared_ptr<Queue> queue_;
};

}  // namespace net
