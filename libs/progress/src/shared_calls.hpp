#pragma once
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <unordered_map>
#include <utility>

#include "net/process/async.hpp"

namespace progress {

/// Lets concurrent callers with the same key share one run of a coroutine. It must outlive its calls. Thread
/// rule: one thread.
template <class Key, class Result, class Hash>
class SharedCalls {
public:
    /// Runs `task`, or returns the result of the running one with that key; a default Result if that one
    /// throws.
    net::Task<Result> run(Key key, net::Task<Result> task) {
        namespace asio = boost::asio;
        if (const auto at = running_.find(key); at != running_.end()) {
            const std::shared_ptr<Call> call = at->second;
            co_await call->ended.async_wait(asio::as_tuple(asio::use_awaitable));
            co_return call->result;
        }
        const auto call = std::make_shared<Call>(co_await asio::this_coro::executor);
        running_.emplace(key, call);
        const Ending ending(*this, key, call);
        call->result = co_await std::move(task);
        co_return call->result;
    }

private:
    struct Call {
        explicit Call(const boost::asio::any_io_executor& executor)
            : ended(executor, boost::asio::steady_timer::time_point::max()) {}
        boost::asio::steady_timer ended;
        Result result = {};
    };
    // At any end of the run.
    class Ending {
    public:
        Ending(SharedCalls& calls, const Key& key, std::shared_ptr<Call> call)
            : calls_(calls), key_(key), call_(std::move(call)) {}
        ~Ending() {
            calls_.running_.erase(key_);
            call_->ended.cancel();
        }
        Ending(const Ending&) = delete;
        Ending& operator=(const Ending&) = delete;

    private:
        SharedCalls& calls_;
        Key key_;
        std::shared_ptr<Call> call_;
    };

    std::unordered_map<Key, std::shared_ptr<Call>, Hash> running_ = {};
};

}  // namespace progress
