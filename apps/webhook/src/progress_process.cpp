#include "progress_process.hpp"

#include <boost/asio/io_context.hpp>

#include "kube/manager/api_metrics.hpp"
#include "net/server/admin_server.hpp"
#include "net/process/loop_gaps.hpp"
#include "net/process/supervisor.hpp"
#include "net/process/timer.hpp"
#include "progress_server.hpp"
#include "server_metrics.hpp"

namespace webhook {
namespace {

using namespace std::chrono_literals;

constexpr auto admin_drain_time = 500ms;

// Everything that lives as long as the process; members are in the order in which they need each other.
class Process {
public:
    explicit Process(const Settings& settings)
        : settings_(settings),
          log_(settings.log_level, settings.log_format),
          supervisor_(context_, log_, end_limits(settings)),
          server_(settings, {log_, metrics_, loop_gaps_, api_metrics_}) {
        net::add_process_metrics(metrics_);
        net::add_loop_metrics(metrics_, loop_gaps_);
    }

    api::Result<> run(const kube::ClusterConfig& config) {
        if (auto started = start(config); !started) return started.error();
        supervisor_.start("watch of the event loop", loop_gaps_.watch());
        supervisor_.start("server of progress", server_.watch());
        auto lived = supervisor_.run([this](bool immediate) { return end(immediate); });
        if (lived) log_.info("stopped");
        return lived;
    }

private:
    api::Result<> start(const kube::ClusterConfig& config) {
        if (auto started = server_.start(config); !started) return started.error();
        add_server_metrics(metrics_, [this](const auto& figure) { return figure(server_.stats()); });
        add_certificate_metric(metrics_, [this] { return server_.certificate_ends(); });
        auto admin = net::start_admin_server(
            context_.get_executor(), settings_.admin_listen, metrics_, [this] { return not_ready(); }, log_);
        if (!admin) return admin.error();
        admin_ = std::move(*admin);
        log_.info("starting", {{"cluster", config.source}});
        log_.info("listening", {{"what", "progress"}, {"address", server_.address()}});
        return {};
    }

    std::vector<std::string> not_ready() const {
        std::vector<std::string> reasons = server_.not_ready();
        if (stopping_) reasons.emplace_back("shutting down");
        return reasons;
    }

    net::Task<> end(bool immediate) {
        // First of all: no new clients are sent here while the old ones are served.
        stopping_ = true;
        server_.stop_vouching();
        if (!immediate) {
            const auto farewell = settings_.shutdown_delay / 5;
            co_await net::sleep_for(settings_.shutdown_delay - farewell);
            server_.close_after_response();
            co_await net::sleep_for(farewell);
        }
        co_await supervisor_.stop_loops();
        co_await server_.end(immediate);
        co_await admin_->drain(admin_drain_time);
    }

    const Settings& settings_;
    net::Log log_;
    net::Metrics metrics_;
    kube::ApiMetrics api_metrics_{log_, metrics_};
    net::LoopGaps loop_gaps_;
    boost::asio::io_context context_{1};
    net::Supervisor supervisor_;
    std::unique_ptr<net::HttpServer> admin_;
    ProgressServer server_;
    bool stopping_ = false;
};

}  // namespace

api::Result<> run_progress(const Settings& settings, const kube::ClusterConfig& config) {
    return Process(settings).run(config);
}

}  // namespace webhook
