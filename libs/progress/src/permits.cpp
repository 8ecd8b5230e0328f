#include "permits.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace progress {
namespace {

namespace asio = boost::asio;

struct Place {
    explicit Place(const asio::any_io_executor& executor)
        : granted_timer(executor, asio::steady_timer::time_point::max()) {}
    asio::steady_timer granted_timer;
    bool is_granted = false;
};

net::Task<> wait(std::shared_ptr<Place> place) {
    co_await place->granted_timer.async_wait(asio::as_tuple(asio::use_awaitable));
}

}  // namespace

struct Permits::State {
    std::size_t free;
    std::list<std::shared_ptr<Place>> line = {};

    void give_back() {
        if (line.empty()) {
            ++free;
            return;
        }
        const std::shared_ptr<Place> first = line.front();
        line.pop_front();
        first->is_granted = true;
        first->granted_timer.cancel();
    }
    static Permit permit(const std::shared_ptr<State>& state) {
        return Permit(state.get(), [state](void*) { state->give_back(); });
    }
};

Permits::Permits(std::size_t count) : state_(std::make_shared<State>(State{.free = count})) {}
Permits::~Permits() = default;

net::Task<Permits::Permit> Permits::take(kube::Clock& clock, kube::SteadyTime deadline) {
    using namespace asio::experimental::awaitable_operators;
    const std::shared_ptr<State> state = state_;
    if (state->free > 0) {
        --state->free;
        co_return State::permit(state);
    }
    const auto place = std::make_shared<Place>(co_await asio::this_coro::executor);
    state->line.push_back(place);
    co_await (wait(place) || clock.sleep_until(deadline));
    if (place->is_granted) co_return State::permit(state);
    state->line.remove(place);
    co_return Permit();
}

}  // namespace progress
