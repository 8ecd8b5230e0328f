#pragma once
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"
#include "net/http/http.hpp"
#include "net/process/log.hpp"
#include "net/tls/digest.hpp"

namespace admission {

/// What is known of a caller.
enum class AuthResult {
    admitted,
    unauthorized,  ///< no token, or one that is not valid
    forbidden,     ///< a user that may not call
    unknown        ///< the API server did not say: the caller is not let in
};

/// Which tokens are accepted.
struct AuthPolicy {
    std::string audience = {};         ///< empty = every client may call
    std::set<std::string> users = {};  ///< empty = every token for the audience
};

/// The token of `Authorization: Bearer ...`; empty if there is none.
std::string_view bearer_token(const net::HttpRequest& request);

/// Asks the API server whose a bearer token is (authentication.k8s.io/v1 TokenReview), and remembers the
/// answer for `remembered_for`. Tokens are not kept, only their digests. All arguments but the rules must
/// outlive it and its answers. Thread rule: one thread.
class TokenAuthenticator {
public:
    TokenAuthenticator(kube::ApiServer& server, kube::Clock& clock, net::Log& log, AuthPolicy rules)
        : server_(server), clock_(clock), log_(log), rules_(std::move(rules)) {}

    /// nullopt: ask() has to be called.
    std::optional<AuthResult> from_cache(std::string_view token);
    /// Whether its owner was let in the last time, however long ago: unknown tokens must not keep it from
    /// being checked.
    bool was_admitted(std::string_view token) const;
    /// Concurrent calls with the same token make one request. `unknown` at `deadline` at the latest.
    net::Task<AuthResult> ask(std::string token, kube::SteadyTime deadline);

    /// As API servers do for the tokens that they have others check.
    static constexpr std::chrono::seconds remembered_for{10};
    /// Of either kind: ever new tokens drive out other rejected ones, never those that are accepted.
    static constexpr std::size_t most_remembered = 256;

private:
    struct Known {
        AuthResult standing = {};
        kube::SteadyTime until = {};
    };
    /// In the order in which they were learnt, which is the order in which they end.
    struct Memory {
        std::map<net::Digest, Known> known = {};
        std::list<net::Digest> order = {};
    };
    class Question;

    net::Async<AuthResult> review(std::string token);
    std::optional<AuthResult> recall(const net::Digest& digest);
    void remember(const net::Digest& digest, AuthResult standing);
    void note(const api::Error* error);
    Memory& memory_of(AuthResult standing) { return standing == AuthResult::admitted ? admitted_ : refused_; }

    kube::ApiServer& server_;
    kube::Clock& clock_;
    net::Log& log_;
    AuthPolicy rules_;
    Memory admitted_ = {};
    Memory refused_ = {};
    std::map<net::Digest, std::shared_ptr<Question>> open_ = {};
    bool fails_ = false;  // what was logged last
};

}  // namespace admission
