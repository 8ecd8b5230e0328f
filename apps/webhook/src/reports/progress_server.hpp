#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kube/client/config.hpp"
#include "kube/manager/manager.hpp"
#include "net/server/http_server.hpp"
#include "settings/settings.hpp"

namespace webhook {

/// The shared parts of the process; safe on any thread.
struct ProgressTools {
    net::Log& log;
    net::Metrics& metrics;
    net::LoopGaps& loop_gaps;
    kube::ApiMetrics& api_metrics;
};

inline ProgressTools tools_of(kube::Manager& manager) {
    return {manager.log(), manager.metrics(), manager.loop_gaps(), manager.api_metrics()};
}

class ProgressServer;
/// Adds the page with the series of single TrainJobs, if the settings ask for it.
void serve_job_metrics(const Settings& settings, kube::Manager& manager, const ProgressServer& server);

/// The server of progress reports (libs/progress) with a listener, a thread, connections and API clients of
/// its own. Thread rule: one thread, unless a member says otherwise. Settings and tools must outlive it.
class ProgressServer {
public:
    ProgressServer(const Settings& settings, ProgressTools tools);
    ~ProgressServer();
    ProgressServer(const ProgressServer&) = delete;
    ProgressServer& operator=(const ProgressServer&) = delete;

    /// Reads the certificate, listens and starts the thread. Errors have the remedy.
    api::Result<> start(const kube::ClusterConfig& config);
    /// Ends when one of the thread's loops has ended by itself, which is a bug.
    net::Task<> watch();

    /// Returns why clients should use another replica; empty if there is no reason. Any thread.
    std::vector<std::string> not_ready() const;
    const net::ServerStats& stats() const;  ///< any thread
    api::Time certificate_ends() const;     ///< any thread
    std::string address() const;
    const std::shared_ptr<net::Tls>& tls() const;  ///< once it has started
    /// Returns the series of single TrainJobs. Any thread.
    std::string job_metrics() const;

    /// Stops the renewal of the Lease.
    void stop_renewing();
    /// Asks clients with kept connections to reconnect elsewhere.
    void close_after_response();
    /// Answers running requests, writes pending reports, and closes everything. With `immediate` it writes
    /// nothing. Awaited on any thread, once.
    net::Task<> end(bool immediate);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace webhook
