#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/process/metrics.hpp"
#include "net/process/options.hpp"
#include "net/server/http_server.hpp"

namespace net {

/// Returns one short reason for each thing that this process still waits for. Empty means ready.
using Readiness = std::function<std::vector<std::string>()>;

/// Further pages by path, each with series in the text format of Prometheus.
using MetricPages = std::vector<std::pair<std::string, std::function<std::string()>>>;

/// Returns a handler for GET /metrics and `pages`. `metrics` must outlive the handler.
Handler metrics_handler(const Metrics& metrics, MetricPages pages);

/// Returns a handler for GET /healthz (200 while the event loop runs), /readyz (200, or 503 with the
/// reasons), and what metrics_handler() answers. `pages`: nullopt if another server has the metrics.
Handler admin_handler(const Metrics& metrics, Readiness readiness,
                      std::optional<MetricPages> pages = MetricPages());

/// Starts a server with admin_handler(). Logs the address that it listens on and exports readiness as
/// signalbox_ready. Fails if the server cannot listen.
api::Result<std::unique_ptr<HttpServer>> start_admin_server(boost::asio::any_io_executor executor,
                                                            const HostPort& listen, Metrics& metrics,
                                                            Readiness readiness, Log& log,
                                                            std::optional<MetricPages> pages = MetricPages());

/// Starts a server over TLS that needs no certificate of clients. Logs the address that it listens on. Fails
/// if it cannot.
api::Result<std::unique_ptr<HttpServer>> start_metrics_server(boost::asio::any_io_executor executor,
                                                              const HostPort& listen,
                                                              std::shared_ptr<Tls> tls, Handler handler,
                                                              Log& log);

}  // namespace net
