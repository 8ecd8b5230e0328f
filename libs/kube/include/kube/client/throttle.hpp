#pragma once
#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"

namespace kube {

/// Gives `rate` permits per second; saves up at most `burst`.
class TokenBucket {
public:
    TokenBucket(double rate, int burst) : rate_(rate), burst_(burst), tokens_(burst) {}
    /// Takes the next permit. Returns when it becomes valid: `now` or later. Permits are given in order.
    SteadyTime take(SteadyTime now);

private:
    double rate_;
    double burst_;
    double tokens_;
    SteadyTime at_ = {};
};

/// Delays requests to `server` by --qps and --burst. Only for reconciles: a lease that waited behind them
/// would be lost. With qps 0 no request waits.
std::unique_ptr<ApiServer> make_throttled(ApiServer& server, Clock& clock, double qps, int burst);

}  // namespace kube
