#include "kube/client/token_authenticator.hpp"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <utility>

namespace kube {
namespace {

constexpr Resource token_reviews = {"authentication.k8s.io", "v1", "tokenreviews", false};
constexpr Resource access_reviews = {"authorization.k8s.io", "v1", "subjectaccessreviews", false};
constexpr std::string_view scheme = "Bearer ";
constexpr std::size_t largest_answer = 64 * 1024;

bool starts_with_scheme(std::string_view value) {
    return value.size() > scheme.size() &&
           std::ranges::equal(value.substr(0, scheme.size()), scheme,
                              [](char given, char wanted) { return (given | 32) == (wanted | 32); });
}

bool contains(const api::Json& list, std::string_view text) {
    const auto& items = list.items();
    return std::ranges::any_of(items, [&](const api::Json& item) { return item.as_string() == text; });
}

AuthResult result_of(const api::Json& status, const AuthPolicy& rules) {
    if (!status["authenticated"].bool_or(false)) return AuthResult::unauthorized;
    // An API server without support for audiences would omit them.
    if (!rules.audience.empty() && !contains(status["audiences"], rules.audience))
        return AuthResult::unauthorized;
    const std::string user(status["user"]["username"].as_string());
    return rules.users.empty() || rules.users.contains(user) ? AuthResult::admitted : AuthResult::forbidden;
}

}  // namespace

std::string_view bearer_token(const net::HttpRequest& request) {
    std::string_view value = net::header(request.headers, "Authorization");
    if (!starts_with_scheme(value)) return {};
    value.remove_prefix(scheme.size());
    while (value.starts_with(' ')) value.remove_prefix(1);
    return value;
}

std::optional<AuthResult> TokenAuthenticator::from_cache(std::string_view token) {
    if (token.empty()) return AuthResult::unauthorized;
    return recall(net::digest_of(token));
}

bool TokenAuthenticator::was_admitted(std::string_view token) const {
    return admitted_.known.contains(net::digest_of(token));
}

net::Task<AuthResult> TokenAuthenticator::ask(std::string token, SteadyTime deadline) {
    using namespace boost::asio::experimental::awaitable_operators;
    const net::Digest digest = net::digest_of(token);
    const bool waits_for_another = reviews_.is_running(digest);
    auto call = reviews_.run(digest, review_in_time(std::move(token), deadline));
    if (!waits_for_another) co_return co_await std::move(call);
    // The other caller may have a later deadline.
    const auto first = co_await (std::move(call) || clock_.sleep_until(deadline));
    const auto* result = std::get_if<AuthResult>(&first);
    co_return result ? *result : AuthResult::unknown;
}

net::Task<AuthResult> TokenAuthenticator::check(const net::HttpRequest& request, net::Semaphore& permits,
                                                SteadyTime deadline) {
    const std::string_view token = bearer_token(request);
    if (const auto known = from_cache(token)) co_return *known;
    const auto permit = permits.try_take(request.peer);
    if (!permit && !was_admitted(token)) co_return AuthResult::unknown;
    co_return co_await ask(std::string(token), deadline);
}

net::Task<AuthResult> TokenAuthenticator::review_in_time(std::string token, SteadyTime deadline) {
    using namespace boost::asio::experimental::awaitable_operators;
    const net::Digest digest = net::digest_of(token);
    const auto answer = co_await (review(std::move(token)) || clock_.sleep_until(deadline));
    const auto* outcome = std::get_if<api::Result<AuthResult>>(&answer);
    if (outcome && *outcome) {
        remember(digest, **outcome);
        note(nullptr);
        co_return **outcome;
    }
    const api::Error late = {.code = api::Errc::unavailable,
                             .message = "the API server did not answer in time"};
    const api::Error error = outcome ? outcome->error() : late;
    note(&error);
    co_return AuthResult::unknown;
}

net::Async<AuthResult> TokenAuthenticator::review(std::string token) {
    api::Json spec = api::Json::object({{"token", std::move(token)}});
    if (!rules_.audience.empty()) spec["audiences"] = api::Json::array({api::Json(rules_.audience)});
    const api::Json body = api::Json::object(
        {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenReview"}, {"spec", std::move(spec)}});
    Request request = create(token_reviews, body);
    const auto status = co_await status_of(std::move(request));
    if (!status) co_return status.error();
    const AuthResult result = result_of(*status, rules_);
    if (result != AuthResult::admitted || rules_.path.empty()) co_return result;
    api::Json user = (*status)["user"];
    co_return co_await review_access(std::move(user));
}

net::Async<AuthResult> TokenAuthenticator::review_access(api::Json user) {
    api::Json spec = api::Json::object(
        {{"user", user["username"]},
         {"nonResourceAttributes", api::Json::object({{"path", rules_.path}, {"verb", "get"}})}});
    // A webhook of the cluster may decide by any of these.
    for (const char* member : {"uid", "groups", "extra"})
        if (!user[member].is_null()) spec[member] = user[member];
    const api::Json body = api::Json::object({{"apiVersion", "authorization.k8s.io/v1"},
                                              {"kind", "SubjectAccessReview"},
                                              {"spec", std::move(spec)}});
    Request request = create(access_reviews, body);
    const auto status = co_await status_of(std::move(request));
    if (!status) co_return status.error();
    co_return (*status)["allowed"].bool_or(false) ? AuthResult::admitted : AuthResult::forbidden;
}

net::Async<api::Json> TokenAuthenticator::status_of(Request request) {
    request.max_answer = largest_answer;
    auto answer = co_await fetch(server_, std::move(request));
    if (!answer) co_return answer.error();
    api::Json status = (*answer)["status"];
    // An answer without a result does not refuse anybody.
    if (!status.is_object())
        co_return api::Error{.code = api::Errc::internal,
                             .message = "the API server's answer is no review with a status"};
    co_return status;
}

std::optional<AuthResult> TokenAuthenticator::recall(const net::Digest& digest) {
    for (const Memory* memory : {&admitted_, &refused_}) {
        const auto at = memory->known.find(digest);
        if (at != memory->known.end() && clock_.now() < at->second.until) return at->second.result;
    }
    return std::nullopt;
}

void TokenAuthenticator::remember(const net::Digest& digest, AuthResult result) {
    for (Memory* memory : {&admitted_, &refused_}) {
        if (memory->known.erase(digest) > 0) memory->order.remove(digest);
    }
    Memory& memory = memory_of(result);
    if (memory.known.size() == most_remembered) {
        memory.known.erase(memory.order.front());
        memory.order.pop_front();
    }
    memory.known[digest] = {.result = result, .until = clock_.now() + rules_.remembered_for};
    memory.order.push_back(digest);
}

// Logs when reviews of tokens begin to fail, and when they work again: while the API server is down, every
// one fails.
void TokenAuthenticator::note(const api::Error* error) {
    if (std::exchange(fails_, error != nullptr) == (error != nullptr)) return;
    if (error)
        log_.warn("cannot review tokens; refusing unreviewed callers", {{"error", *error}});
    else
        log_.info("reviews of tokens work again");
}

}  // namespace kube
