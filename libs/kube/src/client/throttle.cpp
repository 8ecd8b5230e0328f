#include "kube/client/throttle.hpp"

#include <optional>

#include "net/process/keyed_rate.hpp"

namespace kube {
namespace {

class Throttled final : public ApiServer {
public:
    Throttled(ApiServer& server, Clock& clock, double qps, int burst) : server_(server), clock_(clock) {
        if (qps > 0) bucket_.emplace(qps, burst);
    }

    // Without a limit the request needs no coroutine of its own.
    Async<Response> send(Request request) override {
        return bucket_ ? send_in_turn(std::move(request)) : server_.send(std::move(request));
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
        if (!bucket_) co_return;
        const SteadyTime now = clock_.now();
        const SteadyTime when = bucket_->reserve(now);
        if (when > now) co_await clock_.sleep_until(when);
    }

    ApiServer& server_;
    Clock& clock_;
    std::optional<net::TokenBucket> bucket_ = {};  // none: no limit
};

}  // namespace

std::unique_ptr<ApiServer> make_throttled(ApiServer& server, Clock& clock, double qps, int burst) {
    return std::make_unique<Throttled>(server, clock, qps, burst);
}

}  // namespace kube
