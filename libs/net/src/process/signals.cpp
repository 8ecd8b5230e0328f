#include "net/process/signals.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>

namespace net {
namespace asio = boost::asio;

namespace {

void mask(int how, const std::vector<int>& numbers) {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : numbers) ::sigaddset(&set, number);
    ::pthread_sigmask(how, &set, nullptr);
}

}  // namespace

class Signals::Impl {
public:
    Impl(const asio::any_io_executor& executor, std::vector<int> the_numbers)
        : set(executor), numbers(std::move(the_numbers)) {}

    static Task<int> next(std::shared_ptr<Impl> self) {
        const auto [error, number] = co_await self->set.async_wait(asio::as_tuple(asio::use_awaitable));
        co_return error ? 0 : number;
    }

    asio::signal_set set;
    const std::vector<int> numbers;
};

Signals::Signals(const asio::any_io_executor& executor, const std::vector<int>& numbers)
    : impl_(std::make_shared<Impl>(executor, numbers)) {
    for (const int number : numbers) impl_->set.add(number);
    mask(SIG_UNBLOCK, numbers);
}

Signals::~Signals() {
    boost::system::error_code ignored;
    // The process is shutting down already. Without a handler another signal would kill it, so block it.
    mask(SIG_BLOCK, impl_->numbers);
    impl_->set.clear(ignored);
    impl_->set.cancel(ignored);
}

Task<int> Signals::next() { return Impl::next(impl_); }

}  // namespace net
