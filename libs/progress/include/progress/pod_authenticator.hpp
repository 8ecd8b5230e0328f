#pragma once
#include <memory>
#include <optional>
#include <string>

#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"
#include "net/tls/digest.hpp"
#include "progress/membership.hpp"
#include "progress/metrics.hpp"
#include "progress/review_limits.hpp"
#include "progress/schedule.hpp"
#include "progress/token.hpp"

namespace progress {

/// The result for the Pod that sends a report.
enum class AuthResult {
    unknown,       ///< the API server did not answer about the token or the Pod's owners
    limited,       ///< too many requests of that kind wait for the API server
    forbidden,     ///< the token is invalid, or the Pod does not belong to this TrainJob's present JobSet
    no_train_job,  ///< a Pod of the namespace has the token, and there is no such TrainJob
    pod            ///< a Pod of the TrainJob's present JobSet
};

struct Sender {
    AuthResult result = AuthResult::unknown;
    PodIdentity pod = {};  ///< unless `unknown` or `limited`
};

/// Decides whether a token belongs to a Pod of a TrainJob, by a TokenReview, and by the owners and labels of
/// TrainJob, JobSet and Pod. Stores answers (membership.hpp), and passes each TrainJob that it reads to the
/// schedule. All arguments must outlive it and its answers. Thread rule: one thread.
class PodAuthenticator {
public:
    struct Limits {
        std::size_t jobs = 10'000;
        bool reviews_by_address = true;
    };
    /// `reviews` has connections of its own, so that no other request waits behind TokenReviews.
    PodAuthenticator(kube::ApiServer& server, kube::ApiServer& reviews, kube::Clock& clock,
                     Schedule& schedule, Metrics& metrics, Limits limits);
    ~PodAuthenticator();

    struct TokenReviewCall {
        api::ObjectKey train_job = {};
        std::string token = {};
        net::Digest digest = {};  ///< of token and TrainJob
        TokenClaims claims = {};
        std::string address = {};
    };
    static net::Digest digest_of(std::string_view token, const api::ObjectKey& train_job);

    /// Returns the stored result; nullopt if ask() is needed.
    std::optional<Sender> from_cache(const api::ObjectKey& train_job, const net::Digest& digest);
    /// Concurrent requests with one token share one answer.
    net::Task<Sender> ask(TokenReviewCall call);

    /// Returns the stored Pod of an accepted token. Valid until the next call of a member.
    PodEntry* pod(const std::string& uid) { return membership_.pod(uid, clock_.now()); }
    std::size_t tokens() const { return tokens_.size(); }

private:
    class Reads;
    struct Found {
        AuthResult result = AuthResult::unknown;
        api::Json object = {};
        std::size_t bytes = 0;  // of its text
    };

    net::Task<Sender> find_out(TokenReviewCall call);
    net::Task<AuthResult> review(TokenReviewCall call);
    net::Task<AuthResult> compare(TokenReviewCall call);
    net::Task<AuthResult> read_job(api::ObjectKey key);
    net::Task<AuthResult> read_job_now(api::ObjectKey key);
    net::Task<AuthResult> read_pod(api::ObjectKey key, std::string uid);
    net::Task<Found> get(kube::Request request);
    const JobEntry* known_job(const api::ObjectKey& key);

    kube::ApiServer& server_;
    kube::ApiServer& reviews_;
    kube::Clock& clock_;
    Schedule& schedule_;
    Metrics& metrics_;
    TokenCache tokens_ = {};
    Membership membership_;
    ReviewLimits limits_;
    std::unique_ptr<Reads> reads_;
};

}  // namespace progress
