#pragma once
#include "kube/api_server.hpp"
#include "kube/clock.hpp"

namespace kube {

/// `rate` permits a second, at most `burst` saved up.
class TokenBucket {
public:
    TokenBucket(double rate, int burst) : rate_(rate), burst_(burst), tokens_(burst) {}
    /// Takes the next permit and says when it becomes valid: `now`, or later. Permits are handed out in
    /// order.
    SteadyTime take(SteadyTime now);

private:
    double rate_;
    double burst_;
    double tokens_;
    SteadyTime at_ = {};
};

/// --qps and --burst: holds back requests to `server`. Give it to the passes only; a lease that waits behind
/// them would be lost. With qps 0 nothing waits.
std::unique_ptr<ApiServer> make_throttled(ApiServer& server, Clock& clock, double qps, int burst);

}  // namespace kube
