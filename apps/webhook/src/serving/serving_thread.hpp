#pragma once
#include <memory>

#include "admission/authenticated_handler.hpp"
#include "admission/client_limits.hpp"
#include "admission/handler.hpp"
#include "admission/inputs.hpp"
#include "admission/metrics.hpp"
#include "admission/review_turns.hpp"
#include "admission/runtime_lister.hpp"
#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"
#include "kube/client/namespaces.hpp"
#include "kube/client/token_authenticator.hpp"
#include "kube/manager/manager.hpp"
#include "net/process/loop_gaps.hpp"
#include "net/process/semaphore.hpp"
#include "net/server/http_server.hpp"
#include "settings/settings.hpp"

namespace webhook {

/// The clients of the API server of one thread. Token reviews have a client of their own, so that callers
/// without permission delay no lookup.
struct ApiClients {
    std::unique_ptr<kube::ApiServer> lookups = {};
    std::unique_ptr<kube::ApiServer> token_reviews = {};  ///< null: every caller is accepted

    void close() const {
        lookups->close();
        if (token_reviews) token_reviews->close();
    }
};

/// Makes the clients of a thread with this executor and clock. Without authentication of callers the rate of
/// lookups is limited.
api::Result<ApiClients> make_api_clients(kube::Manager& manager, boost::asio::any_io_executor executor,
                                         kube::Clock& clock, const kube::ClusterConfig& config,
                                         const Settings& settings, const kube::AuthPolicy& callers);

/// The shared services of all serving threads. Safe on any thread; it outlives them.
struct SharedServices {
    admission::ReviewMetrics& metrics;
    net::Log& log;
    const runtime::Pipeline& pipeline;
    const kube::AuthPolicy& callers;
    const kube::Namespaces& namespaces;  ///< the namespaces whose TrainJobs and runtimes are validated
    const admission::ReviewPolicy& policy;
    net::LoopGaps& loop_gaps;  ///< of all threads
};

/// The objects of one serving thread: a server with its own connections, its own lister of runtimes, its own
/// clients of the API server. Serving threads share no lock. Thread rule: that of `executor`, unless a member
/// says otherwise.
class ServingThread {
public:
    ServingThread(boost::asio::any_io_executor executor, std::unique_ptr<kube::Clock> clock,
                  ApiClients upstream, net::ServerConfig config, SharedServices tools);

    /// Begins to accept; returns the port. Call it before the thread runs.
    api::Result<std::uint16_t> start() { return http_->start(); }

    /// Stores a runtime; an empty `runtime` removes it. Any thread.
    void update(const api::ObjectKey& key, const admission::RuntimeTextPtr& runtime);
    /// From now on every answer asks its client to reconnect. Any thread.
    void close_after_response();
    /// Stops accepting, answers running requests, and closes its connections. Awaited on any thread, once.
    net::Task<> drain(std::chrono::milliseconds grace);

    const net::ServerStats& stats() const { return http_->stats(); }  ///< any thread

private:
    static net::Task<> drain_here(ServingThread& serving_thread, std::chrono::milliseconds grace);

    boost::asio::any_io_executor executor_;
    std::unique_ptr<kube::Clock> clock_;
    ApiClients upstream_;
    std::unique_ptr<kube::TokenAuthenticator> tokens_;  // null: every caller is accepted
    admission::RuntimeLister runtimes_;
    net::Semaphore lookup_permits_;
    net::Semaphore token_review_permits_;
    admission::ReviewTurns turns_ = {};
    admission::InputReader inputs_;
    admission::ServiceCheck services_;
    admission::ReviewHandler handler_;
    admission::AuthenticatedHandler callers_;
    std::unique_ptr<net::HttpServer> http_;
};

}  // namespace webhook
