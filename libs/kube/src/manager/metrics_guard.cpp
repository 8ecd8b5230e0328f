#include "kube/manager/metrics_guard.hpp"

namespace kube {
namespace {

// One response per connection, as for other scrapes.
net::HttpResponse refuse(int status, const char* text) {
    return {.status = status,
            .headers = {{"Content-Type", "text/plain; charset=utf-8"}, {"Cache-Control", "no-store"}},
            .body = text,
            .close = true};
}

net::HttpResponse refusal_of(AuthResult result) {
    if (result == AuthResult::unknown) return refuse(503, "the token cannot be reviewed now, try again\n");
    if (result == AuthResult::forbidden) return refuse(403, "this user may not get /metrics\n");
    auto response = refuse(401, "a valid bearer token is needed\n");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
}

}  // namespace

net::Answer MetricsGuard::answer(net::HttpRequest& request) {
    const std::string_view token = bearer_token(request);
    if (const auto known = tokens_.from_cache(token))
        return *known == AuthResult::admitted ? pages_(request) : refusal_of(*known);
    auto permit = permits_.try_take(request.peer);
    if (!permit && !tokens_.was_admitted(token)) return refusal_of(AuthResult::unknown);
    return answer_later(request, std::move(permit));
}

net::Task<net::HttpResponse> MetricsGuard::answer_later(net::HttpRequest& request,
                                                        net::Semaphore::Permit permit) {
    const auto client =
        co_await tokens_.ask(std::string(bearer_token(request)), clock_.now() + longest_review);
    permit = {};
    if (client != AuthResult::admitted) co_return refusal_of(client);
    auto answer = pages_(request);
    if (auto* response = std::get_if<net::HttpResponse>(&answer)) co_return std::move(*response);
    auto later = std::get<net::Task<net::HttpResponse>>(std::move(answer));
    co_return co_await std::move(later);
}

}  // namespace kube
