#include "serving_thread.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "admission/rationed_server.hpp"
#include "admission/review_turns.hpp"

namespace webhook {
namespace {

// Limit for each thread of the reads that clients without permission can cause. A review takes about a
// millisecond.
constexpr std::size_t token_reviews_at_once = 8;

admission::Ration ration_of_thread(admission::Ration ration, int threads) {
    ration.per_second /= threads;
    ration.at_once = std::max(ration.at_once / threads, 1);
    return ration;
}

net::HttpResponse no_verdict(int status, const char* text) {
    return {.status = status,
            .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
            .body = std::string(text) + "\n"};
}

// Clients without permission do not keep a connection either.
net::HttpResponse go_away(int status, const char* text) {
    net::HttpResponse response = no_verdict(status, text);
    response.close = true;
    return response;
}

// The other connections are for reviews without lookups, however slow the API server is.
std::size_t part_of(std::size_t connections, std::size_t divisor) {
    return std::max<std::size_t>(connections / divisor, 1);
}

}  // namespace

api::Result<ApiClients> make_api_clients(kube::Manager& manager, boost::asio::any_io_executor executor,
                                         kube::Clock& clock, const kube::ClusterConfig& config,
                                         const Settings& settings, const admission::AuthPolicy& callers) {
    auto lookups = manager.connect(executor, clock, config, admission::lookup_limits::connections);
    if (!lookups) return lookups.error();
    ApiClients clients = {.lookups = std::move(*lookups)};
    const bool callers_are_unknown = callers.audience.empty() && settings.client_ca.empty();
    if (callers_are_unknown)
        clients.lookups = admission::make_rationed(std::move(clients.lookups), clock,
                                                   ration_of_thread(admission::Ration(), settings.threads));
    if (callers.audience.empty()) return clients;
    auto reviews = manager.connect(std::move(executor), clock, config, token_reviews_at_once);
    if (!reviews) return reviews.error();
    clients.token_reviews = std::move(*reviews);
    return clients;
}

ServingThread::ServingThread(boost::asio::any_io_executor executor, std::unique_ptr<kube::Clock> clock,
                             ApiClients upstream, net::ServerConfig config, SharedServices tools)
    : executor_(executor),
      clock_(std::move(clock)),
      upstream_(std::move(upstream)),
      runtimes_(tools.pipeline),
      budget_(part_of(config.limits.max_connections, 2)),
      questions_(part_of(config.limits.max_connections, 3)),
      turns_(executor),
      metrics_(tools.metrics),
      inputs_(runtimes_, *upstream_.lookups, tools.pipeline, tools.namespaces, &turns_),
      handler_(inputs_, *clock_, tools.metrics, tools.log, tools.pipeline, tools.namespaces, tools.policy,
               &budget_, &turns_),
      http_(net::make_http_server(
          executor, std::move(config), [this](net::HttpRequest& request) { return receive(request); },
          tools.log)) {
    if (upstream_.token_reviews)
        callers_.emplace(*upstream_.token_reviews, *clock_, tools.log, tools.callers);
}

net::Answer ServingThread::receive(net::HttpRequest& request) {
    if (!callers_) return admit(request, clock_->now());
    const std::string_view token = admission::bearer_token(request);
    const auto result = callers_->from_cache(token);
    if (!result) {
        auto place = questions_.take(request.peer);
        if (!place && !callers_->was_admitted(token)) return turn_away(admission::AuthResult::unknown);
        return ask_and_admit(request, std::string(token), std::move(place));
    }
    if (*result != admission::AuthResult::admitted) return turn_away(*result);
    return admit(request, clock_->now());
}

net::Task<net::HttpResponse> ServingThread::ask_and_admit(net::HttpRequest& request, std::string token,
                                                          std::optional<admission::Limiter::Permit> place) {
    // Half of the time is for the review itself.
    const kube::SteadyTime came = clock_->now();
    const auto deadline = came + admission::lookup_timeout(request.target) / 2;
    const admission::AuthResult result = co_await callers_->ask(std::move(token), deadline);
    // Connections that wait for their review have a limit of their own.
    place.reset();
    if (result != admission::AuthResult::admitted) co_return turn_away(result);
    auto answer = admit(request, came);
    if (auto* later = std::get_if<net::Task<net::HttpResponse>>(&answer))
        co_return co_await std::move(*later);
    co_return std::move(std::get<net::HttpResponse>(answer));
}

// The error for a rejected client has the requirements, and nothing about clients with permission.
net::HttpResponse ServingThread::turn_away(admission::AuthResult result) {
    if (result == admission::AuthResult::unknown) {
        metrics_.count_refused(admission::Outcome::unchecked);
        return no_verdict(503, "the caller cannot be checked now, try again");
    }
    if (result == admission::AuthResult::forbidden) {
        metrics_.count_refused(admission::Outcome::forbidden);
        return go_away(403, "this user may not call");
    }
    metrics_.count_refused(admission::Outcome::unauthorized);
    auto response = go_away(401, "a valid bearer token is needed");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
}

// The server limits the size of a body, but its trees can be forty times that.
net::Answer ServingThread::admit(net::HttpRequest& request, kube::SteadyTime came) {
    // A small body cannot have so many values; counting takes a twentieth of a review's time.
    if (request.body.size() > admission::max_review_values &&
        api::count_values(request.body) > admission::max_review_values) {
        metrics_.count_refused(admission::Outcome::too_large);
        return no_verdict(413, "the body holds too many values");
    }
    return handler_.answer_by(request, came);
}

void ServingThread::update(const api::ObjectKey& key, const admission::RuntimeTextPtr& runtime) {
    executor_.execute([this, key, runtime] { runtimes_.set(key, runtime); });
}

void ServingThread::close_after_response() {
    executor_.execute([this] { http_->close_after_response(); });
}

net::Task<> ServingThread::drain_here(ServingThread& serving_thread, std::chrono::milliseconds grace) {
    // Reviews that wait for the API server until shortly before the end get an answer all the same.
    boost::asio::steady_timer last_call(serving_thread.executor_, grace - grace / 10);
    last_call.async_wait([&serving_thread](const boost::system::error_code& cancelled) {
        if (!cancelled) serving_thread.upstream_.close();
    });
    co_await serving_thread.http_->drain(grace);
    // Closes its idle connections, so that the thread has nothing left to do.
    serving_thread.upstream_.close();
}

net::Task<> ServingThread::drain(std::chrono::milliseconds grace) {
    // A named variable: g++ 12 sometimes destroys temporaries in a co_await expression twice.
    auto here = drain_here(*this, grace);
    co_await boost::asio::co_spawn(executor_, std::move(here), boost::asio::use_awaitable);
}

}  // namespace webhook
