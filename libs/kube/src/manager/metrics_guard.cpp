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

net::Task<net::HttpResponse> MetricsGuard::answer(net::HttpRequest& request) {
    const auto client = co_await tokens_.check(request, permits_, clock_.now() + longest_review);
    if (client != AuthResult::admitted) co_return refusal_of(client);
    auto answer = pages_(request);
    if (auto* response = std::get_if<net::HttpResponse>(&answer)) co_return std::move(*response);
    auto later = std::get<net::Task<net::HttpResponse>>(std::move(answer));
    co_return co_await std::move(later);
}

}  // namespace kube
