#include "net/signals.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace net {
namespace asio = boost::asio;

class Signals::Impl {
public:
    explicit Impl(const asio::any_io_executor& executor) : set(executor) {}

    static Task<int> next(std::shared_ptr<Impl> self) {
        const auto [error, number] = co_await self->set.async_wait(asio::as_tuple(asio::use_awaitable));
        co_return error ? 0 : number;
    }

    asio::signal_set set;
};

Signals::Signals(const asio::any_io_executor& executor, const std::vector<int>& numbers)
    : impl_(std::make_shared<Impl>(executor)) {
    for (const int number : numbers) impl_->set.add(number);
}

Signals::~Signals() {
    boost::system::error_code ignored;
    impl_->set.clear(ignored);
    impl_->set.cancel(ignored);
}

Task<int> Signals::next() { return Impl::next(impl_); }

}  // namespace net
