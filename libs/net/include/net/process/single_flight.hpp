#pragma once
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "net/process/async.hpp"

namespace net {

/// Which calls a caller shares: also one that has begun, or only one that has not. With `not_begun` no caller
/// gets an answer that is older than its question.
enum class Share : bool { running, not_begun };

/// Lets callers that ask for the same at the same time share one call. Each caller brings a call of its own,
/// which runs unless another caller's result is shared with it. If the caller whose call runs is cut, or its
/// call throws, one of the others runs its own: nobody waits in vain. Copies share calls. Callers may outlive
/// all copies. Nothing is kept of a key once nobody asks for it. Thread rule: one thread.
template <class Key, class Value>
class SingleFlight {
public:
    /// Returns whether other callers get this result, too.
    using Shared = std::function<bool(const Value&)>;

    /// `at_once`: how many calls with one key may run at a time, with Share::not_begun. With only one, a call
    /// that does not end delays every caller. `shared` is called with results of calls; by default all are.
    explicit SingleFlight(
        Share share, int at_once = 1, Shared shared = [](const Value&) { return true; })
        : state_(std::make_shared<State>(share, at_once, std::move(shared))) {}

    /// Returns the result of `call`, or of another caller's call with that key.
    Task<Value> run(Key key, Task<Value> call) { return run(state_, std::move(key), std::move(call)); }
    /// Returns whether a call with that key runs now.
    bool is_running(const Key& key) const {
        const auto at = state_->lines.find(key);
        return at != state_->lines.end() && at->second.running > 0;
    }

private:
    /// One call, and the callers that get its result.
    struct Flight {
        std::optional<Value> result = {};
        bool is_running = false;
    };
    /// The callers with one key.
    struct Line {
        explicit Line(const boost::asio::any_io_executor& executor)
            : changed(executor, boost::asio::steady_timer::time_point::max()) {}
        std::shared_ptr<Flight> next = std::make_shared<Flight>();  // what new callers share
        int running = 0;
        int callers = 0;
        boost::asio::steady_timer changed;  // cancelled when a call ends
    };
    struct State {
        State(Share the_share, int the_most, Shared is_shared)
            : share(the_share), at_once(the_most), shared(std::move(is_shared)) {}
        Share share;
        int at_once;
        Shared shared;
        std::map<Key, Line> lines = {};
    };
    using Lines = std::map<Key, Line>;

    /// The last caller to leave removes the line.
    class Visit {
    public:
        Visit(Lines& lines, Key key, const boost::asio::any_io_executor& executor)
            : lines_(lines), at_(lines.try_emplace(std::move(key), executor).first) {
            ++line().callers;
        }
        ~Visit() {
            if (--line().callers == 0) lines_.erase(at_);
        }
        Visit(const Visit&) = delete;
        Visit& operator=(const Visit&) = delete;
        Line& line() { return at_->second; }

    private:
        Lines& lines_;
        typename Lines::iterator at_;
    };

    /// The time of a call. Its end wakes those that wait, also if the call is cut.
    class Running {
    public:
        Running(Line& line, Flight& flight) : line_(line), flight_(flight) {
            ++line_.running;
            flight_.is_running = true;
        }
        ~Running() {
            --line_.running;
            flight_.is_running = false;
            line_.changed.cancel();
        }
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;

    private:
        Line& line_;
        Flight& flight_;
    };

    static Task<Value> run(std::shared_ptr<State> state, Key key, Task<Value> call) {
        namespace asio = boost::asio;
        Visit visit(state->lines, std::move(key), co_await asio::this_coro::executor);
        Line& line = visit.line();
        const std::shared_ptr<Flight> flight = line.next;
        // Later callers do not share this call.
        const auto close = [&] {
            if (line.next == flight) line.next = std::make_shared<Flight>();
        };
        while (!flight->result && (flight->is_running || line.running >= state->at_once))
            co_await line.changed.async_wait(asio::as_tuple(asio::use_awaitable));
        if (!flight->result) {
            const Running running(line, *flight);
            if (state->share == Share::not_begun) close();
            Value result = co_await std::move(call);
            // A call that was cut may return all the same, for example an error.
            const auto cut = co_await asio::this_coro::cancellation_state;
            const bool is_cut = cut.cancelled() != asio::cancellation_type::none;
            // Each of the others makes its own call.
            if (is_cut || !state->shared(result)) co_return result;
            flight->result.emplace(std::move(result));
            close();
        }
        co_return *flight->result;
    }

    std::shared_ptr<State> state_;
};

}  // namespace net
