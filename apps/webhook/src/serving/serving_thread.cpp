#include "serving/serving_thread.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "admission/rationed_server.hpp"
#include "admission/review_turns.hpp"

namespace webhook {
namespace {

std::unique_ptr<kube::TokenAuthenticator> authenticator_of(const ApiClients& upstream, kube::Clock& clock,
                                                           const SharedServices& tools) {
    if (!upstream.token_reviews) return nullptr;
    return std::make_unique<kube::TokenAuthenticator>(*upstream.token_reviews, clock, tools.log,
                                                      tools.callers);
}

}  // namespace

api::Result<ApiClients> make_api_clients(kube::Manager& manager, boost::asio::any_io_executor executor,
                                         kube::Clock& clock, const kube::ClusterConfig& config,
                                         const Settings& settings, const kube::AuthPolicy& callers) {
    auto lookups = manager.connect(executor, clock, config, admission::lookup_limits::connections);
    if (!lookups) return lookups.error();
    ApiClients clients = {.lookups = std::move(*lookups)};
    const bool callers_are_unknown = callers.audience.empty() && settings.client_ca.empty();
    if (callers_are_unknown)
        clients.lookups =
            admission::make_rationed(std::move(clients.lookups), clock,
                                     admission::ration_of_thread(admission::Ration(), settings.threads));
    if (callers.audience.empty()) return clients;
    auto reviews =
        manager.connect(std::move(executor), clock, config, kube::TokenAuthenticator::requests_at_once);
    if (!reviews) return reviews.error();
    clients.token_reviews = std::move(*reviews);
    return clients;
}

ServingThread::ServingThread(boost::asio::any_io_executor executor, std::unique_ptr<kube::Clock> clock,
                             ApiClients upstream, net::ServerConfig config, SharedServices tools)
    : executor_(executor),
      clock_(std::move(clock)),
      upstream_(std::move(upstream)),
      tokens_(authenticator_of(upstream_, *clock_, tools)),
      runtimes_(tools.pipeline),
      lookup_permits_(admission::lookup_permits(config.limits.max_connections)),
      token_review_permits_(admission::token_review_permits(config.limits.max_connections)),
      inputs_(runtimes_, *upstream_.lookups, tools.pipeline, tools.namespaces, &turns_),
      services_(*upstream_.lookups, *clock_),
      handler_(inputs_, *clock_, tools.metrics, tools.log, tools.pipeline, tools.namespaces, tools.policy,
               &lookup_permits_, &turns_, &services_),
      callers_(handler_, tokens_.get(), token_review_permits_, *clock_, tools.metrics),
      http_(net::make_http_server(
          executor, std::move(config),
          [this](net::HttpRequest& request) { return callers_.receive(request); }, tools.log)) {}

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
