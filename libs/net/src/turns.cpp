#include "net/turns.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>

#include "net/next_turn.hpp"

namespace net {
namespace asio = boost::asio;

struct Turns::Queue {
    explicit Queue(asio::any_io_executor the_executor) : executor(std::move(the_executor)) {}

    asio::any_io_executor executor;
    bool taken = false;
    std::list<asio::steady_timer*> waiting = {};  // a timer that never fires: its end is the turn
};

Turns::Turns(asio::any_io_executor executor) : queue_(std::make_shared<Queue>(std::move(executor))) {}

Turns::~Turns() = default;

Turns::Turn::~Turn() {
    if (!queue_) return;
    if (queue_->waiting.empty()) {
        queue_->taken = false;
        return;
    }
    asio::steady_timer* first = queue_->waiting.front();
    queue_->waiting.pop_front();
    first->cancel();
}

namespace {

// In the list for as long as it waits, also if it is destroyed meanwhile.
class Waiting {
public:
    Waiting(std::list<asio::steady_timer*>& list, asio::steady_timer& timer) : list_(list), timer_(timer) {
        list_.push_back(&timer_);
    }
    ~Waiting() { list_.remove(&timer_); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

private:
    std::list<asio::steady_timer*>& list_;
    asio::steady_timer& timer_;
};

}  // namespace

Task<Turns::Turn> Turns::next() {
    const std::shared_ptr<Queue> queue = queue_;
    if (queue->taken) {
        asio::steady_timer timer(queue->executor, asio::steady_timer::time_point::max());
        const Waiting waiting(queue->waiting, timer);
        co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    queue->taken = true;
    Turn turn(queue);
    // What has come during the one before.
    co_await next_turn();
    co_return turn;
}

}  // namespace net
