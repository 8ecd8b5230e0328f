#pragma once
#include <functional>

#include "net/http_server.hpp"
#include "net/metrics.hpp"

namespace webhook {

/// Returns the sum of one figure over all servers of the process. Any thread.
using TotalOf = std::function<double(const std::function<double(const net::ServerStats&)>& figure)>;

/// Adds the metrics of connections and of requests that were refused as HTTP.
void add_server_metrics(net::Metrics& metrics, const TotalOf& total);

}  // namespace webhook
