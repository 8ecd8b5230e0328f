#pragma once
#include <chrono>
#include <functional>

#include "net/process/async.hpp"

namespace webhook {

/// Begins an orderly shutdown: continues to serve for `delay`, while the process is not ready and new clients
/// are routed elsewhere. Calls `close_after_response` before the last fifth of it, so that clients close kept
/// connections, and none is about to use a connection that is closed as idle.
net::Task<> serve_on(std::chrono::milliseconds delay, std::function<void()> close_after_response);

}  // namespace webhook
