#include "admission/authenticated_handler.hpp"

#include <utility>
#include <variant>

#include "plain_response.hpp"

namespace admission {
namespace {

// Clients without permission do not keep a connection either.
net::HttpResponse reject_and_close(int status, const char* text) {
    net::HttpResponse response = plain(status, text);
    response.close = true;
    return response;
}

}  // namespace

net::Answer AuthenticatedHandler::receive(net::HttpRequest& request) {
    if (!tokens_) return admit(request, clock_.now());
    const std::string_view token = bearer_token(request);
    const auto result = tokens_->from_cache(token);
    if (!result) {
        auto permit = token_review_permits_.try_take(request.peer);
        if (!permit && !tokens_->was_admitted(token)) return reject(AuthResult::unknown);
        return ask_and_admit(request, std::string(token), std::move(permit));
    }
    if (*result != AuthResult::admitted) return reject(*result);
    return admit(request, clock_.now());
}

net::Task<net::HttpResponse> AuthenticatedHandler::ask_and_admit(net::HttpRequest& request, std::string token,
                                                                 net::Semaphore::Permit permit) {
    // Half of the time is for the review itself.
    const kube::SteadyTime came = clock_.now();
    const auto deadline = came + lookup_timeout(request.target) / 2;
    const AuthResult result = co_await tokens_->ask(std::move(token), deadline);
    // Connections that wait for their review have a limit of their own.
    permit = {};
    if (result != AuthResult::admitted) co_return reject(result);
    auto answer = admit(request, came);
    if (auto* later = std::get_if<net::Task<net::HttpResponse>>(&answer))
        co_return co_await std::move(*later);
    co_return std::move(std::get<net::HttpResponse>(answer));
}

// The error for a rejected client has the requirements, and nothing about clients with permission.
net::HttpResponse AuthenticatedHandler::reject(AuthResult result) {
    if (result == AuthResult::unknown) {
        observer_.refused(Outcome::unchecked);
        return plain(503, "the caller cannot be checked now, try again");
    }
    if (result == AuthResult::forbidden) {
        observer_.refused(Outcome::forbidden);
        return reject_and_close(403, "this user may not call");
    }
    observer_.refused(Outcome::unauthorized);
    auto response = reject_and_close(401, "a valid bearer token is needed");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
}

// The server limits the size of a body, but its trees can be forty times that.
net::Answer AuthenticatedHandler::admit(net::HttpRequest& request, kube::SteadyTime came) {
    // A small body cannot have so many values; counting takes a twentieth of a review's time.
    if (request.body.size() > max_review_values && count_values(request.body) > max_review_values) {
        observer_.refused(Outcome::too_large);
        return plain(413, "the body holds too many values");
    }
    return reviews_.answer_by(request, came);
}

}  // namespace admission
