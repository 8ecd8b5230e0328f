#pragma once
#include "admission/handler.hpp"
#include "admission/observer.hpp"
#include "kube/client/clock.hpp"
#include "kube/client/token_authenticator.hpp"
#include "net/process/semaphore.hpp"
#include "net/server/http_server.hpp"

namespace admission {

/// Answers the requests of callers with permission by a ReviewHandler, and refuses all others: with 401 for a
/// missing or invalid token, 403 for another user, 503 if the token cannot be reviewed now, 413 for a body
/// with more than `max_review_values`. Requests whose tokens are under review hold a permit. Without a permit
/// a token is reviewed only if it was accepted before, so that unknown tokens delay no known caller. The
/// review of a token takes at most half of the request's timeout. All arguments must outlive it and its
/// answers. Thread rule: one thread.
class AuthenticatedHandler {
public:
    /// `tokens`: nullptr accepts every caller.
    AuthenticatedHandler(ReviewHandler& reviews, kube::TokenAuthenticator* tokens,
                         net::Semaphore& token_review_permits, kube::Clock& clock, ReviewObserver& observer)
        : reviews_(reviews),
          tokens_(tokens),
          token_review_permits_(token_review_permits),
          clock_(clock),
          observer_(observer) {}

    net::Task<net::HttpResponse> receive(net::HttpRequest& request);

private:
    net::Task<kube::AuthResult> check(const net::HttpRequest& request, kube::SteadyTime came);
    net::HttpResponse reject(kube::AuthResult result);

    ReviewHandler& reviews_;
    kube::TokenAuthenticator* const tokens_;
    net::Semaphore& token_review_permits_;
    kube::Clock& clock_;
    ReviewObserver& observer_;
};

}  // namespace admission
