#pragma once
#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"

namespace kube {

/// Delays requests to `server` by --qps and --burst. Only for reconciles: a lease that waited behind them
/// would be lost. With qps 0 no request waits.
std::unique_ptr<ApiServer> make_throttled(ApiServer& server, Clock& clock, double qps, int burst);

}  // namespace kube
