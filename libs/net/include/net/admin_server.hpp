#pragma once
#include <functional>
#include <string>
#include <vector>

#include "net/http_server.hpp"
#include "net/metrics.hpp"
#include "net/options.hpp"

namespace net {

/// What this process still waits for, one short reason each; empty = ready.
using Readiness = std::function<std::vector<std::string>()>;

/// Answers GET /healthz (200 while the loop runs), /readyz (200, or 503 with the reasons) and /metrics.
/// `metrics` must outlive the handler.
Handler admin_handler(const Metrics& metrics, Readiness readiness);

/// A server with that handler, started; logs where it listens, and exports readiness as signalbox_ready.
api::Result<std::unique_ptr<HttpServer>> start_admin_server(boost::asio::any_io_executor executor,
                                                            const HostPort& listen, Metrics& metrics,
                                                            Readiness readiness, Log& log);

}  // namespace net
