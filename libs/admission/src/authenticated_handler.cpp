#include "admission/authenticated_handler.hpp"

#include <string>

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

net::Task<net::HttpResponse> AuthenticatedHandler::receive(net::HttpRequest& request) {
    const kube::SteadyTime came = clock_.now();
    const kube::AuthResult caller = co_await check(request, came);
    if (caller != kube::AuthResult::admitted) co_return reject(caller);
    // The server limits the size of a body, but its trees can be forty times that. A small body cannot have
    // so many values; counting takes a twentieth of a review's time.
    if (request.body.size() > max_review_values && count_values(request.body) > max_review_values) {
        observer_.refused(Outcome::too_large);
        co_return plain(413, "the body holds too many values");
    }
    co_return co_await reviews_.answer_by(request, came);
}

net::Task<kube::AuthResult> AuthenticatedHandler::check(const net::HttpRequest& request,
                                                        kube::SteadyTime came) {
    if (!tokens_) co_return kube::AuthResult::admitted;
    // Connections that wait for the review of their token have a limit of their own. Half of the time is for
    // the review itself.
    co_return co_await tokens_->check(request, token_review_permits_,
                                      came + lookup_timeout(request.target) / 2);
}

// The error for a rejected client has the requirements, and nothing about clients with permission.
net::HttpResponse AuthenticatedHandler::reject(kube::AuthResult result) {
    if (result == kube::AuthResult::unknown) {
        observer_.refused(Outcome::unchecked);
        return plain(503, "the caller cannot be checked now, try again");
    }
    if (result == kube::AuthResult::forbidden) {
        observer_.refused(Outcome::forbidden);
        return reject_and_close(403, "this user may not call");
    }
    observer_.refused(Outcome::unauthorized);
    auto response = reject_and_close(401, "a valid bearer token is needed");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
}

}  // namespace admission
