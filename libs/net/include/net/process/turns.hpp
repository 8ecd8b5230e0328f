#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <memory>
#include <utility>

#include "net/process/async.hpp"

namespace net {

/// Lets long pieces of work go on one at a time, in the order in which they asked, and before each of them
/// everything else that is ready: however many there are, what is short waits for one or two of them. Thread
/// rule: one thread, the one that runs the executor. May be destroyed while some wait: those never go on.
class Turns {
    struct Queue;
    class Waiting;

public:
    explicit Turns(boost::asio::any_io_executor executor);
    ~Turns();
    Turns(const Turns&) = delete;
    Turns& operator=(const Turns&) = delete;

    /// The next one comes when it is destroyed.
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
    /// How many wait.
    std::size_t waiting() const;

private:
    std::shared_ptr<Queue> queue_;
};

}  // namespace net
