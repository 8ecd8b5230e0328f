#include "kube/client/throttle.hpp"

#include <algorithm>

namespace kube {
namespace {

class Throttled final : public ApiServer {
public:
    Throttled(ApiServer& server, Clock& clock, double qps, int burst)
        : server_(server), clock_(clock), limited_(qps > 0), bucket_(qps, std::max(burst, 1)) {}

    // Without a limit the request needs no coroutine of its own.
    Async<Response> send(Request request) override {
        return limited_ ? send_in_turn(std::move(request)) : server_.send(std::move(request));
    }
    Async<std::unique_ptr<Watch>> watch(Request request) override {
        co_await wait();
        co_return co_await server_.watch(std::move(request));
    }

private:
    Async<Response> send_in_turn(Request request) {
        co_await wait();
        co_return co_await server_.send(std::move(request));
    }
    Task<> wait() {
        if (!limited_) co_return;
        const SteadyTime now = clock_.now();
        const SteadyTime when = bucket_.take(now);
        if (when > now) co_await clock_.sleep_until(when);
    }

    ApiServer& server_;
    Clock& clock_;
    bool limited_;
    TokenBucket bucket_;
};

}  // namespace

SteadyTime TokenBucket::take(SteadyTime now) {
    using Seconds = std::chrono::duration<double>;
    if (now > at_) {
        tokens_ = std::min(burst_, tokens_ + Seconds(now - at_).count() * rate_);
        at_ = now;
    }
    // Below zero each waiting request has taken one token in advance.
    tokens_ -= 1;
    if (tokens_ >= 0) return now;
    return now + std::chrono::ceil<SteadyTime::duration>(Seconds(-tokens_ / rate_));
}

std::unique_ptr<ApiServer> make_throttled(ApiServer& server, Clock& clock, double qps, int burst) {
    return std::make_unique<Throttled>(server, clock, qps, burst);
}

}  // namespace kube
