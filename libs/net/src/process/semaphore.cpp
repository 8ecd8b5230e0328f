#include "net/process/semaphore.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <list>
#include <utility>

namespace net {
namespace asio = boost::asio;

struct Semaphore::State {
    class Waiting;

    explicit State(std::size_t the_count) : free(the_count) {}

    static Task<Permit> take(std::shared_ptr<State> state);
    static Permit try_take(const std::shared_ptr<State>& state, std::string_view client);
    void give_back(Held::iterator client);
    void pass_on();

    std::size_t free;
    std::list<Waiting*> line = {};  // empty while a permit is free
    Held held = {};
};

/// Stands in the line until it gets a permit, or until its wait is cancelled.
class Semaphore::State::Waiting {
public:
    Waiting(State& state, const asio::any_io_executor& executor)
        : state_(state),
          timer_(executor, asio::steady_timer::time_point::max()),
          place_(state.line.insert(state.line.end(), this)) {}
    ~Waiting() {
        if (granted_)
            state_.pass_on();
        else if (!taken_)
            state_.line.erase(place_);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    auto wait() { return timer_.async_wait(asio::as_tuple(asio::use_awaitable)); }
    void grant() {
        state_.line.erase(place_);
        granted_ = true;
        timer_.cancel();
    }
    /// Returns whether it has got the permit; the caller gives it back.
    bool take() {
        taken_ = granted_;
        return std::exchange(granted_, false);
    }

private:
    State& state_;
    asio::steady_timer timer_;  // never fires
    std::list<Waiting*>::iterator place_;
    bool granted_ = false;
    bool taken_ = false;
};

void Semaphore::State::pass_on() {
    if (line.empty())
        ++free;
    else
        line.front()->grant();
}

void Semaphore::State::give_back(Held::iterator client) {
    if (client != held.end() && --client->second == 0) held.erase(client);
    pass_on();
}

Task<Semaphore::Permit> Semaphore::State::take(std::shared_ptr<State> state) {
    if (state->free > 0) {
        --state->free;
    } else {
        Waiting waiting(*state, co_await asio::this_coro::executor);
        co_await waiting.wait();
        if (!waiting.take()) throw boost::system::system_error(asio::error::operation_aborted);
    }
    co_return Permit(state, state->held.end());
}

Semaphore::Permit Semaphore::State::try_take(const std::shared_ptr<State>& state, std::string_view client) {
    if (state->free == 0) return Permit();
    auto at = state->held.end();
    if (!client.empty()) {
        at = state->held.find(client);
        const std::size_t held = at == state->held.end() ? 0 : at->second;
        if (held >= std::max<std::size_t>((state->free + held) / 2, 1)) return Permit();
        if (at == state->held.end()) at = state->held.emplace(client, 0).first;
        ++at->second;
    }
    --state->free;
    return Permit(state, at);
}

Semaphore::Permit& Semaphore::Permit::operator=(Permit&& other) noexcept {
    Permit former = std::move(*this);
    state_ = std::move(other.state_);
    client_ = other.client_;
    return *this;
}

Semaphore::Permit::~Permit() {
    if (state_) state_->give_back(client_);
}

Semaphore::Semaphore(std::size_t count) : state_(std::make_shared<State>(count)) {}

Task<Semaphore::Permit> Semaphore::take() { return State::take(state_); }

Semaphore::Permit Semaphore::try_take(std::string_view client) { return State::try_take(state_, client); }

std::size_t Semaphore::waiting() const { return state_->line.size(); }

}  // namespace net
