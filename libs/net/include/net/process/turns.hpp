#pragma once
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/process/async.hpp"

namespace net {

/// Runs all handlers that are ready on this executor before it returns. Call it between two steps that may be
/// long.
inline Task<> next_turn() {
    const auto executor = co_await boost::asio::this_coro::executor;
    co_await boost::asio::post(executor, boost::asio::use_awaitable);
}

}  // namespace net
