#pragma once
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kube/client/config.hpp"
#include "kube/client/server_clock.hpp"
#include "kube/manager/api_metrics.hpp"
#include "kube/manager/event_recorder.hpp"
#include "kube/manager/leader_elector.hpp"
#include "kube/manager/metrics_guard.hpp"
#include "kube/watch/reflector.hpp"
#include "net/process/loop_gaps.hpp"
#include "net/process/options.hpp"
#include "net/process/supervisor.hpp"
#include "net/server/admin_server.hpp"

namespace kube {

/// Returns a name that differs between any two processes, also of one Pod: the host's name and 64 random
/// bits.
std::string new_identity();

struct ManagerOptions {
    net::LogLevel log_level = net::LogLevel::info;
    net::LogFormat log_format = net::LogFormat::text;
    net::HostPort admin_listen = {};  ///< of /healthz, /readyz and /metrics
    net::ShutdownLimits shutdown = {};
};

/// The parts of a server process besides its work: log, metrics, one event loop with its supervisor, clients
/// of the API server, watches, the lease, probes, and one orderly shutdown. Declare objects that use its
/// parts after it. Thread rule: the thread of run(), unless a member says otherwise.
class Manager {
public:
    explicit Manager(const ManagerOptions& options);
    ~Manager();
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

    net::Log& log() { return log_; }                    ///< safe on any thread
    net::Metrics& metrics() { return metrics_; }        ///< safe on any thread
    ApiMetrics& api_metrics() { return api_metrics_; }  ///< safe on any thread
    net::LoopGaps& loop_gaps() { return loop_gaps_; }   ///< safe on any thread
    /// Its wall clock is the API server's.
    const ServerClock& clock() const { return clock_; }
    ServerClock& clock() { return clock_; }
    boost::asio::any_io_executor executor() { return context_.get_executor(); }

    /// Makes a client of the API server whose requests are counted, whose problems are logged, and whose
    /// answers set clock().
    api::Result<std::unique_ptr<ApiServer>> connect(const ClusterConfig& config, std::size_t max_connections);
    /// The same for another thread, with an `executor` and a `clock` of that thread. Sets no clock.
    api::Result<std::unique_ptr<ApiServer>> connect(boost::asio::any_io_executor executor, Clock& clock,
                                                    const ClusterConfig& config, std::size_t max_connections);

    /// Watches a collection into `sink` from run() on. The process is not ready before the first list.
    /// Problems are logged; `on_change` is called after that. Server and sink must outlive run().
    void watch(ApiServer& server, Scope scope, Sink& sink, std::function<void()> on_change = {});
    /// As watch(), for a kind that clusters may lack, now or for ever: readiness does not wait for it.
    void watch_once_installed(ApiServer& server, Scope scope, Sink& sink);

    /// Makes a recorder of events in the name of `identity`. Dropped events are counted; the log has their
    /// object as `log_key`, a literal.
    std::unique_ptr<EventRecorder> record_events(ApiServer& server, const std::string& identity,
                                                 const char* log_key);

    /// Holds the lease from run() on as far as possible. `on_change` is called when this process begins or
    /// ceases to lead. Without a call of elect() the process leads from the beginning.
    void elect(ApiServer& server, api::ObjectKey lease, std::string identity,
               std::function<void()> on_change);
    /// Returns whether this process may act. Cheap.
    bool leading() const { return !elector_ || elector_->leading(); }

    /// Runs a loop until the shutdown. The process ends with an error if the loop ends by itself.
    void start(std::string name, net::Task<> loop) { supervisor_.start(std::move(name), std::move(loop)); }

    /// Adds a source of reasons why this process is not ready.
    void ready_after(net::Readiness reasons) { readiness_.push_back(std::move(reasons)); }

    /// Adds a page with series to those of start_admin_server(), which comes later.
    void serve_page(std::string path, std::function<std::string()> expose) {
        pages_.emplace_back(std::move(path), std::move(expose));
    }

    /// Listens for scrapes over TLS of clients that may get /metrics (MetricsGuard). Fails if it cannot.
    /// start_admin_server(), which comes later, then serves no metrics.
    api::Result<> start_metrics_server(const ClusterConfig& config, const net::HostPort& listen,
                                       std::shared_ptr<net::Tls> tls);
    /// Listens for probes, and for scrapes. Fails if it cannot.
    api::Result<> start_admin_server();

    /// The parts of the shutdown: `before` ends the work while watches and lease still live, `after` closes
    /// the rest when all loops have ended. `immediate`: after a bug; then neither waits for anything.
    struct Shutdown {
        net::Supervisor::Shutdown before = {};
        net::Supervisor::Shutdown after = {};
    };
    /// Runs the process until SIGTERM, SIGINT or a bug, which is an error; see net::Supervisor. The process
    /// is not ready from the signal on. The lease is released after the loops. Later signals are ignored, so
    /// that they do not replace the exit status.
    api::Result<> run(const Shutdown& shutdown);

private:
    using Reflectors = std::vector<std::unique_ptr<Reflector>>;
    void note(const DatedAnswer& answer);
    void log_watch(const Scope& scope, const api::Error* error);
    void watch(Reflectors& to, ApiServer& server, Scope scope, Sink& sink, Reflector::OnChange on_change);
    std::vector<std::string> not_ready() const;
    net::Task<> end(const Shutdown& shutdown, bool immediate);

    const ManagerOptions options_;
    net::Log log_;
    net::Metrics metrics_;
    ApiMetrics api_metrics_{log_, metrics_};
    net::LoopGaps loop_gaps_;
    boost::asio::io_context context_{1};
    net::Supervisor supervisor_;
    std::unique_ptr<Clock> own_clock_;
    ServerClock clock_;
    bool clock_was_certain_ = true;
    Reflectors reflectors_;
    Reflectors optional_reflectors_;
    std::unique_ptr<LeaderElector> elector_;
    std::vector<net::Readiness> readiness_;
    net::MetricPages pages_;
    std::unique_ptr<ApiServer> reviews_;  // is asked about clients of the next two
    std::unique_ptr<MetricsGuard> guard_;
    std::unique_ptr<net::HttpServer> scrapes_;  // null: the admin server has the metrics
    std::unique_ptr<net::HttpServer> admin_;
    bool stopping_ = false;
};

}  // namespace kube
