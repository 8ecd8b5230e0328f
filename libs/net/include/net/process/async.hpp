#pragma once
#include <boost/asio/awaitable.hpp>

#include "api/error.hpp"

namespace net {

/// The return type of an I/O function: a coroutine that ends with a value or an Error. It never throws
/// because of input or I/O from outside the process. Rule for g++ 12: name an aggregate on the line before
/// `co_await f(aggregate)` (CONTRIBUTING.md: toolchain traps).
template <class T = void>
using Async = boost::asio::awaitable<api::Result<T>>;

/// A coroutine that cannot fail.
template <class T = void>
using Task = boost::asio::awaitable<T>;

}  // namespace net
