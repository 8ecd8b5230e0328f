#include "progress/pod_authenticator.hpp"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <string_view>

#include "net/process/semaphore.hpp"
#include "net/process/single_flight.hpp"

namespace progress {
namespace {

using api::Json;
using kube::SteadyTime;
using namespace std::chrono_literals;

constexpr kube::Resource token_reviews = {"authentication.k8s.io", "v1", "tokenreviews", false};
constexpr std::string_view pod_name_key = "authentication.kubernetes.io/pod-name";
constexpr std::string_view pod_uid_key = "authentication.kubernetes.io/pod-uid";

// Clients give up after five seconds.
constexpr auto longest_request = 4s;
constexpr std::size_t reviews_at_once = 8;
constexpr std::size_t reads_at_once = 16;

// Parts that are not needed here and may be large.
constexpr std::string_view managed_fields[] = {"metadata", "managedFields"};
constexpr std::string_view spec[] = {"spec"};
constexpr api::JsonPath omit[] = {managed_fields, spec};

bool contains(const Json& list, std::string_view text) {
    return std::ranges::any_of(list.items(), [&](const Json& item) { return item.as_string() == text; });
}

Json review_of(const std::string& token, const api::ObjectKey& train_job) {
    return Json::object(
        {{"apiVersion", "authentication.k8s.io/v1"},
         {"kind", "TokenReview"},
         {"spec",
          Json::object({{"token", token}, {"audiences", Json::array({Json(audience_of(train_job))})}})}});
}

// Returns whether the answer is for the Pod of the token's own claims.
bool confirms_claims(const Json& status, const TokenClaims& claims, const api::ObjectKey& train_job) {
    const Json& user = status["user"];
    const std::string accounts = "system:serviceaccount:" + train_job.ns + ":";
    return status["authenticated"].bool_or(false) && contains(status["audiences"], audience_of(train_job)) &&
           user["username"].as_string().starts_with(accounts) &&
           contains(user["extra"][pod_name_key], claims.pod_name) &&
           contains(user["extra"][pod_uid_key], claims.pod_uid);
}

}  // namespace

// Requests in progress.
class PodAuthenticator::Reads {
public:
    template <class T>
    static net::Async<T> in_time(net::Async<T> request, kube::Clock& clock) {
        using namespace boost::asio::experimental::awaitable_operators;
        auto outcome = co_await (std::move(request) || clock.sleep_until(clock.now() + longest_request));
        if (outcome.index() == 0) co_return std::move(std::get<0>(outcome));
        co_return api::Error{.code = api::Errc::unavailable,
                             .message = "the API server did not answer in time"};
    }

    /// Returns a permit that holds nothing at `deadline`.
    static net::Task<net::Semaphore::Permit> take(net::Semaphore& permits, kube::Clock& clock,
                                                  SteadyTime deadline) {
        using namespace boost::asio::experimental::awaitable_operators;
        auto permit = permits.try_take();
        if (permit) co_return permit;
        auto first = co_await (permits.take() || clock.sleep_until(deadline));
        if (first.index() == 0) permit = std::move(std::get<0>(first));
        co_return permit;
    }

    net::SingleFlight<net::Digest, Sender> tokens{net::Share::running};
    net::SingleFlight<api::ObjectKey, AuthResult> jobs{net::Share::running};
    net::Semaphore reviews{reviews_at_once};
    net::Semaphore unknown_reviews{reviews_at_once / 2};
    net::Semaphore gets{reads_at_once};
};

PodAuthenticator::PodAuthenticator(kube::ApiServer& server, kube::ApiServer& reviews, kube::Clock& clock,
                                   Schedule& schedule, Metrics& metrics, Limits limits)
    : server_(server),
      reviews_(reviews),
      clock_(clock),
      schedule_(schedule),
      metrics_(metrics),
      membership_(limits.jobs),
      limits_(limits.reviews_by_address),
      reads_(std::make_unique<Reads>()) {}

PodAuthenticator::~PodAuthenticator() = default;

net::Digest PodAuthenticator::digest_of(std::string_view token, const api::ObjectKey& train_job) {
    std::string text(token);
    // Neither tokens nor names have blanks.
    text.append(" ").append(train_job.ns).append(" ").append(train_job.name);
    return net::digest_of(text);
}

// Returns the job if its reports are scheduled, or if it was recently read as missing.
const JobEntry* PodAuthenticator::known_job(const api::ObjectKey& key) {
    const JobEntry* entry = membership_.job(key, clock_.now());
    return entry && (entry->uid.empty() || schedule_.knows(key)) ? entry : nullptr;
}

std::optional<Sender> PodAuthenticator::from_cache(const api::ObjectKey& train_job,
                                                   const net::Digest& digest) {
    const SteadyTime now = clock_.now();
    if (tokens_.refused(digest, now)) return Sender{.result = AuthResult::forbidden};
    const PodIdentity* pod = tokens_.accepted(digest, now);
    const JobEntry* job = pod ? known_job(train_job) : nullptr;
    if (!job) return std::nullopt;
    if (job->uid.empty()) return Sender{.result = AuthResult::no_train_job, .pod = *pod};
    const PodEntry* entry = membership_.pod(pod->uid, now);
    if (!entry || entry->job_set_uid != job->job_set_uid) return std::nullopt;
    return Sender{.result = AuthResult::pod, .pod = *pod};
}

net::Task<Sender> PodAuthenticator::ask(TokenReviewCall call) {
    const net::Digest digest = call.digest;
    auto answer = find_out(std::move(call));
    co_return co_await reads_->tokens.run(digest, std::move(answer));
}

net::Task<Sender> PodAuthenticator::find_out(TokenReviewCall call) {
    Sender sender = {.pod = {.name = call.claims.pod_name, .uid = call.claims.pod_uid}};
    if (!tokens_.accepted(call.digest, clock_.now())) {
        sender.result = co_await review(call);
        if (sender.result != AuthResult::pod) co_return sender;
    }
    sender.result = co_await compare(call);
    if (sender.result == AuthResult::forbidden) tokens_.refuse(call.digest, clock_.now());
    co_return sender;
}

net::Task<AuthResult> PodAuthenticator::review(TokenReviewCall call) {
    const bool known = tokens_.was_accepted(call.digest);
    const SteadyTime came = clock_.now();
    const SteadyTime deadline = came + ReviewLimits::longest_line;
    const auto turn = limits_.reserve(call.address, known, came);
    if (turn) co_await clock_.sleep_until(*turn);
    net::Semaphore::Permit of_unknown;
    net::Semaphore::Permit permit;
    if (turn && !known) of_unknown = co_await Reads::take(reads_->unknown_reviews, clock_, deadline);
    if (turn && (known || of_unknown)) permit = co_await Reads::take(reads_->reviews, clock_, deadline);
    if (!permit) {
        metrics_.count(Limit::token_reviews);
        co_return AuthResult::limited;
    }
    const Json body = review_of(call.token, call.train_job);
    kube::Request request = kube::create(token_reviews, body);
    auto asking = kube::fetch(reviews_, std::move(request));
    const auto answer = co_await Reads::in_time(std::move(asking), clock_);
    // A TokenReview without a result does not refuse the token.
    if (!answer || !(*answer)["status"].is_object()) {
        metrics_.count(Review::failed);
        co_return AuthResult::unknown;
    }
    const bool accepted = confirms_claims((*answer)["status"], call.claims, call.train_job);
    metrics_.count(accepted ? Review::accepted : Review::refused);
    limits_.answered(call.address, accepted);
    const SteadyTime now = clock_.now();
    if (!accepted) {
        tokens_.forget(call.digest);
        tokens_.refuse(call.digest, now);
        co_return AuthResult::forbidden;
    }
    const auto wall = std::chrono::floor<std::chrono::seconds>(clock_.wall());
    const auto lifetime = std::max(call.claims.expires - wall, 0s);
    PodIdentity pod = {.name = call.claims.pod_name, .uid = call.claims.pod_uid};
    tokens_.accept(call.digest, std::move(pod), lifetime, now);
    co_return AuthResult::pod;
}

net::Task<AuthResult> PodAuthenticator::compare(TokenReviewCall call) {
    const api::ObjectKey& key = call.train_job;
    const TokenClaims& claims = call.claims;
    if (!known_job(key)) {
        const AuthResult read = co_await read_job(key);
        if (read != AuthResult::pod) co_return read;
    }
    // Whatever Pod it is.
    if (const JobEntry* job = membership_.job(key, clock_.now()); job && job->uid.empty())
        co_return AuthResult::no_train_job;
    if (!membership_.pod(claims.pod_uid, clock_.now())) {
        api::ObjectKey pod = {.ns = key.ns, .name = claims.pod_name};
        const AuthResult read = co_await read_pod(std::move(pod), claims.pod_uid);
        if (read != AuthResult::pod) co_return read;
    }
    // The JobSet may have been replaced.
    for (int looks = 0; looks < 2; ++looks) {
        const SteadyTime now = clock_.now();
        const JobEntry* job = membership_.job(key, now);
        const PodEntry* pod = membership_.pod(claims.pod_uid, now);
        if (!job || !pod) break;
        if (job->uid.empty()) co_return AuthResult::no_train_job;
        if (job->job_set_uid == pod->job_set_uid) co_return AuthResult::pod;
        if (looks > 0 || !membership_.may_read_again(*job, now)) co_return AuthResult::forbidden;
        const AuthResult read = co_await read_job(key);
        if (read != AuthResult::pod) co_return read;
    }
    co_return AuthResult::unknown;
}

net::Task<AuthResult> PodAuthenticator::read_job(api::ObjectKey key) {
    auto reading = read_job_now(key);
    co_return co_await reads_->jobs.run(std::move(key), std::move(reading));
}

// Reads the TrainJob and its JobSet, also if there is none. Returns `pod` if they could be read.
net::Task<AuthResult> PodAuthenticator::read_job_now(api::ObjectKey key) {
    if (!schedule_.has_room(key, moment_of(clock_))) {
        metrics_.count(Limit::jobs);
        co_return AuthResult::limited;
    }
    kube::Request of_job = kube::get(kube::resources::train_jobs, key);
    const auto train_job = co_await get(std::move(of_job));
    if (train_job.result == AuthResult::forbidden) {
        membership_.update(key, JobEntry{.read_at = clock_.now()}, clock_.now());
        co_return AuthResult::pod;
    }
    if (train_job.result != AuthResult::pod) co_return train_job.result;
    kube::Request of_job_set = kube::get(kube::resources::job_sets, key);
    const auto job_set = co_await get(std::move(of_job_set));
    if (job_set.result != AuthResult::pod && job_set.result != AuthResult::forbidden)
        co_return job_set.result;
    schedule_.update(key, stored_status(train_job.object, train_job.bytes), moment_of(clock_));
    const SteadyTime now = clock_.now();
    membership_.update(key, job_entry(train_job.object, job_set.object, now), now);
    co_return AuthResult::pod;
}

net::Task<AuthResult> PodAuthenticator::read_pod(api::ObjectKey key, std::string uid) {
    kube::Request request = kube::get(kube::resources::pods, key);
    const auto pod = co_await get(std::move(request));
    if (pod.result != AuthResult::pod) co_return pod.result;
    const auto entry = pod_entry(pod.object, uid);
    if (!entry) co_return AuthResult::forbidden;
    membership_.update(uid, *entry, clock_.now());
    co_return AuthResult::pod;
}

// Returns `pod` with an object, `forbidden` without one.
net::Task<PodAuthenticator::Found> PodAuthenticator::get(kube::Request request) {
    Found found;
    const SteadyTime deadline = clock_.now() + ReviewLimits::longest_line;
    const auto permit = co_await Reads::take(reads_->gets, clock_, deadline);
    if (!permit) {
        metrics_.count(Limit::reads);
        found.result = AuthResult::limited;
        co_return found;
    }
    auto sending = server_.send(std::move(request));
    const auto response = co_await Reads::in_time(std::move(sending), clock_);
    if (!response) {
        if (response.error().code == api::Errc::not_found) found.result = AuthResult::forbidden;
        co_return found;
    }
    auto object = api::parse_json_without(response->body, omit);
    if (!object) co_return found;
    found.result = AuthResult::pod;
    found.object = std::move(*object);
    found.bytes = response->body.size();
    co_return found;
}

}  // namespace progress
