#pragma once
#include <memory>

#include "caller_check.hpp"
#include "facts.hpp"
#include "kube/api_server.hpp"
#include "kube/clock.hpp"
#include "kube/namespaces.hpp"
#include "net/http_server.hpp"
#include "net/loop_gaps.hpp"
#include "review_budget.hpp"
#include "review_handler.hpp"
#include "review_turns.hpp"
#include "runtime_view.hpp"

namespace webhook {

/// What all lanes use; safe on any thread, and outlives them.
struct LaneTools {
    ReviewMetrics& metrics;
    net::Log& log;
    const runtime::Pipeline& pipeline;
    const CallerRules& callers;
    const kube::Namespaces& namespaces;  ///< in which TrainJobs and runtimes are judged
    const ReviewPolicy& policy;
    net::LoopGaps& loop_gaps;  ///< of all threads
};

/// A lane's ways to the API server. Token reviews have one of their own: strangers hold up no lookup.
struct Upstream {
    std::unique_ptr<kube::ApiServer> lookups = {};
    std::unique_ptr<kube::ApiServer> token_reviews = {};  ///< null: everybody may call

    void close() const {
        lookups->close();
        if (token_reviews) token_reviews->close();
    }
};

/// One thread's share of the work: a server with its own connections, its own view of the runtimes, its own
/// way to the API server. Lanes share no lock. Thread rule: that of `executor`, unless a member says
/// otherwise.
class Lane {
public:
    Lane(boost::asio::any_io_executor executor, std::unique_ptr<kube::Clock> clock, Upstream upstream,
         net::ServerConfig config, LaneTools tools);

    /// Begins to accept; returns the port. Called before the thread runs.
    api::Result<std::uint16_t> start() { return http_->start(); }

    /// Any thread. An empty `runtime` is gone.
    void learn(const api::ObjectKey& key, const RuntimeTextPtr& runtime);
    /// Any thread: from now on every answer asks its client to connect anew next time.
    void retire();
    /// Stops accepting, answers what is under way, and closes its connections. Awaited on any thread, once.
    net::Task<> drain(std::chrono::milliseconds grace);

    const net::ServerStats& stats() const { return http_->stats(); }  ///< any thread

private:
    /// Looks at who calls first.
    net::Answer receive(net::HttpRequest& request);
    net::Task<net::HttpResponse> ask_and_admit(net::HttpRequest& request, std::string token,
                                               std::optional<ReviewBudget::Share> place);
    net::HttpResponse turn_away(Standing standing);
    net::Answer admit(net::HttpRequest& request, kube::SteadyTime came);
    static net::Task<> drain_here(Lane& lane, std::chrono::milliseconds grace);

    boost::asio::any_io_executor executor_;
    std::unique_ptr<kube::Clock> clock_;
    Upstream upstream_;
    std::optional<CallerCheck> callers_ = {};
    RuntimeView runtimes_ = {};
    ReviewBudget budget_;
    ReviewBudget questions_;  // who waits to be known
    ReviewTurns turns_;
    ReviewMetrics& metrics_;
    FactFinder facts_;
    ReviewHandler handler_;
    std::unique_ptr<net::HttpServer> http_;
};

}  // namespace webhook
