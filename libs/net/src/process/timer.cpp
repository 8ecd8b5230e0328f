#include "net/process/timer.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace net {
namespace asio = boost::asio;
namespace {
constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);
}  // namespace

Task<> sleep_for(std::chrono::milliseconds duration) {
    asio::steady_timer timer(co_await asio::this_coro::executor, duration);
    co_await timer.async_wait(as_tuple);
}

// Shared with the waiting coroutine, which may outlive the Wakeup.
class Wakeup::Impl {
public:
    explicit Impl(const asio::any_io_executor& executor) : timer(executor) {}

    static Task<bool> wait_until(std::shared_ptr<Impl> self, std::chrono::steady_clock::time_point time) {
        if (!self->notified) {
            self->timer.expires_at(time);
            co_await self->timer.async_wait(as_tuple);
        }
        co_return std::exchange(self->notified, false);
    }

    asio::steady_timer timer;
    bool notified = false;
};

Wakeup::Wakeup(const asio::any_io_executor& executor) : impl_(std::make_shared<Impl>(executor)) {}
Wakeup::~Wakeup() { impl_->timer.cancel(); }

void Wakeup::notify() {
    impl_->notified = true;
    impl_->timer.cancel();
}

Task<bool> Wakeup::wait_until(std::chrono::steady_clock::time_point time) {
    return Impl::wait_until(impl_, time);
}

Task<bool> Wakeup::wait() { return Impl::wait_until(impl_, std::chrono::steady_clock::time_point::max()); }

}  // namespace net
