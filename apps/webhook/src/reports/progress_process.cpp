#include "reports/progress_process.hpp"

#include "kube/manager/manager.hpp"
#include "reports/progress_server.hpp"
#include "serving/serve_on.hpp"
#include "serving/server_metrics.hpp"

namespace webhook {
namespace {

// The parts of the process; members are in the order of their dependencies.
class Process {
public:
    explicit Process(const Settings& settings)
        : settings_(settings), manager_(manager_options(settings)), server_(settings, tools_of(manager_)) {}

    api::Result<> run(const kube::ClusterConfig& config) {
        if (auto started = server_.start(config); !started) return started.error();
        manager_.start("server of progress", server_.watch());
        add_server_metrics(manager_.metrics(),
                           [this](const auto& figure) { return figure(server_.stats()); });
        add_certificate_metric(manager_.metrics(), [this] { return server_.certificate_ends(); });
        manager_.ready_after([this] { return server_.not_ready(); });
        serve_job_metrics(settings_, manager_, server_);
        if (settings_.metrics.secure) {
            auto served = manager_.start_metrics_server(config, settings_.metrics.listen, server_.tls());
            if (!served) return served.error();
        }
        if (auto started = manager_.start_admin_server(); !started) return started.error();
        manager_.log().info("starting", {{"cluster", config.source}});
        manager_.log().info("listening", {{"what", "progress"}, {"address", server_.address()}});
        const kube::Manager::Shutdown shutdown = {
            .before = [this](bool immediate) { return stop_taking(immediate); },
            .after = [this](bool immediate) { return server_.end(immediate); }};
        return manager_.run(shutdown);
    }

private:
    net::Task<> stop_taking(bool immediate) {
        server_.stop_renewing();
        if (immediate) co_return;
        co_await serve_on(settings_.shutdown_delay, [this] { server_.close_after_response(); });
    }

    const Settings& settings_;
    kube::Manager manager_;
    ProgressServer server_;
};

}  // namespace

api::Result<> run_progress(const Settings& settings, const kube::ClusterConfig& config) {
    return Process(settings).run(config);
}

}  // namespace webhook
