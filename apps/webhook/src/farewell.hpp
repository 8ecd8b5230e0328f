#pragma once
#include <chrono>
#include <functional>

#include "net/process/async.hpp"

namespace webhook {

/// The beginning of an orderly end: serves on for `delay`, while the process is not ready and new clients are
/// sent elsewhere. `close_after_response` is called before the last fifth of it, so that clients which keep
/// connections leave; then no client is just about to use one that is closed for being idle.
net::Task<> serve_on(std::chrono::milliseconds delay, std::function<void()> close_after_response);

}  // namespace webhook
