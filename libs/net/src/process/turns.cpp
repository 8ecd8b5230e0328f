#include "net/process/turns.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <list>

namespace net {
namespace asio = boost::asio;

struct Turns::Queue {
    explicit Queue(asio::any_io_executor the_executor) : executor(std::move(the_executor)) {}

    void pass_on();

    asio::any_io_executor executor;
    bool taken = false;
    std::list<Waiting*> waiting = {};
};

/// A member of the list until it gets its turn, or until its wait is cancelled.
class Turns::Waiting {
public:
    explicit Waiting(Queue& queue)
        : queue_(queue), timer_(queue.executor, asio::steady_timer::time_point::max()) {
        queue_.waiting.push_back(this);
    }
    ~Waiting() {
        if (granted_)
            queue_.pass_on();
        else
            queue_.waiting.remove(this);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    auto wait() { return timer_.async_wait(asio::as_tuple(asio::use_awaitable)); }
    void grant() {
        granted_ = true;
        timer_.cancel();
    }
    /// Returns whether it has the turn; the caller passes it on.
    bool take() { return std::exchange(granted_, false); }

private:
    Queue& queue_;
    asio::steady_timer timer_;  // never fires
    bool granted_ = false;
};

void Turns::Queue::pass_on() {
    taken = !waiting.empty();
    if (!taken) return;
    Waiting* const first = waiting.front();
    waiting.pop_front();
    first->grant();
}

Turns::Turns(asio::any_io_executor executor) : queue_(std::make_shared<Queue>(std::move(executor))) {}

Turns::~Turns() = default;

Turns::Turn::~Turn() {
    if (queue_) queue_->pass_on();
}

std::size_t Turns::waiting() const { return queue_->waiting.size(); }

Task<Turns::Turn> Turns::next() {
    const std::shared_ptr<Queue> queue = queue_;
    if (queue->taken) {
        Waiting waiting(*queue);
        co_await waiting.wait();
        if (!waiting.take()) throw boost::system::system_error(asio::error::operation_aborted);
    }
    queue->taken = true;
    Turn turn(queue);
    // Runs the handlers that became ready during the previous task.
    co_await next_turn();
    co_return turn;
}

}  // namespace net
