#pragma once
#include <memory>

#include "admission/token_authenticator.hpp"
#include "admission/inputs.hpp"
#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"
#include "kube/client/namespaces.hpp"
#include "net/server/http_server.hpp"
#include "net/process/loop_gaps.hpp"
#include "admission/limiter.hpp"
#include "admission/handler.hpp"
#include "admission/review_turns.hpp"
#include "admission/runtime_lister.hpp"

namespace webhook {

/// What all lanes use; safe on any thread, and outlives them.
struct SharedServices {
    admission::ReviewMetrics& metrics;
    net::Log& log;
    const runtime::Pipeline& pipeline;
    const admission::AuthPolicy& callers;
    const kube::Namespaces& namespaces;  ///< in which TrainJobs and runtimes are judged
    const admission::ReviewPolicy& policy;
    net::LoopGaps& loop_gaps;  ///< of all threads
};

/// A lane's ways to the API server. Token reviews have one of their own: strangers hold up no lookup.
struct ApiClients {
    std::unique_ptr<kube::ApiServer> lookups = {};
    std::unique_ptr<kube::ApiServer> token_reviews = {};  ///< null: everybody may call

    void close() const {
        lookups->close();
        if (token_reviews) token_reviews->close();
    }
};

/// One thread's share of the work: a server with its own connections, its own view of the runtimes, its own
/// way to the API server. ServingThreads share no lock. Thread rule: that of `executor`, unless a member says
/// otherwise.
class ServingThread {
public:
    ServingThread(boost::asio::any_io_executor executor, std::unique_ptr<kube::Clock> clock, ApiClients upstream,
         net::ServerConfig config, SharedServices tools);

    /// Begins to accept; returns the port. Called before the thread runs.
    api::Result<std::uint16_t> start() { return http_->start(); }

    /// Any thread. An empty `runtime` is gone.
    void update(const api::ObjectKey& key, const admission::RuntimeTextPtr& runtime);
    /// Any thread: from now on every answer asks its client to connect anew next time.
    void close_after_response();
    /// Stops accepting, answers what is under way, and closes its connections. Awaited on any thread, once.
    net::Task<> drain(std::chrono::milliseconds grace);

    const net::ServerStats& stats() const { return http_->stats(); }  ///< any thread

private:
    /// Looks at who calls first.
    net::Answer receive(net::HttpRequest& request);
    net::Task<net::HttpResponse> ask_and_admit(net::HttpRequest& request, std::string token,
                                               std::optional<admission::Limiter::Permit> place);
    net::HttpResponse turn_away(admission::AuthResult standing);
    net::Answer admit(net::HttpRequest& request, kube::SteadyTime came);
    static net::Task<> drain_here(ServingThread& serving_thread, std::chrono::milliseconds grace);

    boost::asio::any_io_executor executor_;
    std::unique_ptr<kube::Clock> clock_;
    ApiClients upstream_;
    std::optional<admission::TokenAuthenticator> callers_ = {};
    admission::RuntimeLister runtimes_ = {};
    admission::Limiter budget_;
    admission::Limiter questions_;  // who waits to be known
    admission::ReviewTurns turns_;
    admission::ReviewMetrics& metrics_;
    admission::InputReader inputs_;
    admission::ReviewHandler handler_;
    std::unique_ptr<net::HttpServer> http_;
};

}  // namespace webhook
