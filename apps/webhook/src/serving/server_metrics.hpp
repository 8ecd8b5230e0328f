#pragma once
#include <functional>

#include "api/time.hpp"
#include "net/process/metrics.hpp"
#include "net/server/http_server.hpp"

namespace webhook {

/// Returns the sum of one figure over all servers of the process. Any thread.
using TotalOf = std::function<double(const std::function<double(const net::ServerStats&)>& figure)>;

/// Adds the metrics of connections and of requests that the HTTP layer refused.
void add_server_metrics(net::Metrics& metrics, const TotalOf& total);

/// Adds the metric of the end of the served certificate, which `ends` returns on any thread.
void add_certificate_metric(net::Metrics& metrics, const std::function<api::Time()>& ends);

}  // namespace webhook
