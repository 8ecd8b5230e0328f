#pragma once
#include "kube/client/clock.hpp"
#include "kube/client/token_authenticator.hpp"
#include "net/process/semaphore.hpp"
#include "net/server/http_server.hpp"

namespace kube {

/// Answers scrapes of clients with permission by another handler, and refuses all others: with 401 for a
/// missing or invalid token, 403 for a user who may not `get` /metrics, 503 if the API server cannot tell. Of
/// tokens that were not accepted before, a few are reviewed at a time, so that they delay no known client.
/// All arguments must outlive it and its answers. Thread rule: one thread.
class MetricsGuard {
public:
    MetricsGuard(ApiServer& server, Clock& clock, net::Log& log, net::Handler pages)
        : clock_(clock), pages_(std::move(pages)), tokens_(server, clock, log, policy()) {}

    net::Task<net::HttpResponse> answer(net::HttpRequest& request);

    /// The API server's answer about a token and its user counts for so long.
    static constexpr std::chrono::seconds remembered_for{60};
    /// Half of the ten seconds that Prometheus waits by default.
    static constexpr std::chrono::seconds longest_review{5};

private:
    static AuthPolicy policy() { return {.path = "/metrics", .remembered_for = remembered_for}; }

    Clock& clock_;
    const net::Handler pages_;
    TokenAuthenticator tokens_;
    net::Semaphore permits_{TokenAuthenticator::requests_at_once};
};

}  // namespace kube
