#pragma once
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"
#include "net/http/http.hpp"
#include "net/process/log.hpp"
#include "net/process/semaphore.hpp"
#include "net/process/single_flight.hpp"
#include "net/tls/digest.hpp"

namespace kube {

/// The result for a caller.
enum class AuthResult {
    admitted,
    unauthorized,  ///< no token, or one that is not valid
    forbidden,     ///< a user without permission to call
    unknown        ///< the API server did not answer: the caller is refused
};

/// The tokens that are accepted.
struct AuthPolicy {
    std::string audience = {};         ///< empty: that of the API server itself
    std::set<std::string> users = {};  ///< empty: every token for the audience
    /// Not empty: only users who may `get` this path, which is that of no resource (SubjectAccessReview).
    std::string path = {};
    /// By default the same time as API servers use for tokens that a webhook checks.
    std::chrono::seconds remembered_for{10};
};

/// Returns the token of `Authorization: Bearer ...`; empty if there is none.
std::string_view bearer_token(const net::HttpRequest& request);

/// Authenticates bearer tokens with the API server (authentication.k8s.io/v1 TokenReview), and stores the
/// result for a while. It stores digests of tokens, not the tokens. All arguments but the policy
/// must outlive it and its answers. Thread rule: one thread.
class TokenAuthenticator {
public:
    TokenAuthenticator(ApiServer& server, Clock& clock, net::Log& log, AuthPolicy rules)
        : server_(server), clock_(clock), log_(log), rules_(std::move(rules)) {}

    /// Returns the stored result; nullopt: call ask().
    std::optional<AuthResult> from_cache(std::string_view token);
    /// Returns whether the token was accepted the last time, at any time: unknown tokens must not delay its
    /// check.
    bool was_admitted(std::string_view token) const;
    /// Concurrent calls with the same token make one request. Returns `unknown` at `deadline` at the latest.
    net::Task<AuthResult> ask(std::string token, SteadyTime deadline);

    /// Returns the stored result for the caller of `request`, or that of ask(). A token that was not accepted
    /// before needs a permit for that, and is `unknown` without one. The arguments must stay until the end.
    net::Task<AuthResult> check(const net::HttpRequest& request, net::Semaphore& permits,
                                SteadyTime deadline);

    /// The limit of concurrent requests for each thread, which clients without permission can cause. A review
    /// takes about a millisecond.
    static constexpr std::size_t requests_at_once = 8;
    /// The limit of each kind: new rejected tokens displace rejected ones, never accepted ones.
    static constexpr std::size_t most_remembered = 256;

private:
    struct Known {
        AuthResult result = {};
        SteadyTime until = {};
    };
    /// In the order of their results, which is the order of their expiry.
    struct Memory {
        std::map<net::Digest, Known> known = {};
        std::list<net::Digest> order = {};
    };

    net::Task<AuthResult> review_in_time(std::string token, SteadyTime deadline);
    net::Async<AuthResult> review(std::string token);
    net::Async<AuthResult> review_access(api::Json user);
    net::Async<api::Json> status_of(Request request);
    std::optional<AuthResult> recall(const net::Digest& digest);
    void remember(const net::Digest& digest, AuthResult result);
    void note(const api::Error* error);
    Memory& memory_of(AuthResult result) { return result == AuthResult::admitted ? admitted_ : refused_; }

    ApiServer& server_;
    Clock& clock_;
    net::Log& log_;
    AuthPolicy rules_;
    Memory admitted_ = {};
    Memory refused_ = {};
    net::SingleFlight<net::Digest, AuthResult> reviews_{net::Share::running};
    bool fails_ = false;  // the state in the last log line
};

}  // namespace kube
