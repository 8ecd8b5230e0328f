#pragma once
#include <boost/asio/awaitable.hpp>

#include "api/error.hpp"

namespace net {

/// What an I/O function returns: a coroutine that ends with a value or an Error. Never throws for what the
/// outside does. g++ 12 rule: name aggregates on the line before `co_await f(aggregate)` (CONTRIBUTING.md:
/// toolchain traps).
template <class T = void>
using Async = boost::asio::awaitable<api::Result<T>>;

/// A coroutine that cannot fail.
template <class T = void>
using Task = boost::asio::awaitable<T>;

}  // namespace net
