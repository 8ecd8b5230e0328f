#include "run.hpp"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "admission/runtime_informer.hpp"
#include "certificate/admission_certificate.hpp"
#include "kube/manager/manager.hpp"
#include "reports/progress_process.hpp"
#include "reports/progress_server.hpp"
#include "runtime/plugin.hpp"
#include "serving/serve_on.hpp"
#include "serving/server_metrics.hpp"
#include "serving/serving_threads.hpp"

namespace webhook {
namespace {

using namespace std::chrono_literals;
using namespace boost::asio::experimental::awaitable_operators;

// Of the 25 s of net::ShutdownLimits. Longer than any lookup takes with the timeouts of the manifests (10 s):
// every accepted request gets an answer.
constexpr auto drain_time = 22s;
constexpr auto drain_time_after_bug = 3s;
// Requests of the process itself, for its certificate.
constexpr std::size_t other_requests_at_once = 8;

// The parts of the process; members are in the order of their dependencies.
class Process {
public:
    Process(const Settings& settings, AdmissionCertificate certificate)
        : settings_(settings),
          manager_(manager_options(settings)),
          review_metrics_(manager_.metrics()),
          certificate_(std::move(certificate)),
          serving_threads_(manager_.executor(), {review_metrics_, manager_.log(), pipeline_, callers_,
                                                 settings.namespaces, policy_, manager_.loop_gaps()}) {}

    api::Result<> run(const kube::ClusterConfig& config);

private:
    api::Result<> watch_runtimes(const kube::ClusterConfig& config);
    api::Result<> serve_progress(const kube::ClusterConfig& config);
    api::Result<> serve_admission(const kube::ClusterConfig& config);
    void add_metrics();
    std::vector<std::string> not_ready();
    bool certificate_is_valid() { return certificate_.tls()->not_after() > manager_.clock().wall(); }
    net::Task<> stop_taking(bool immediate);
    net::Task<> drain(bool immediate);
    net::Task<> end_progress(bool immediate);

    const Settings& settings_;
    kube::Manager manager_;
    admission::ReviewMetrics review_metrics_;
    const runtime::Pipeline pipeline_ = runtime::make_pipeline(admission::features_of(
        settings_.feature_gates,
        {.devices = settings_.accelerators, .gang_schedulers = settings_.gang_schedulers}));
    const kube::AuthPolicy callers_ = auth_policy(settings_);
    const admission::ReviewPolicy policy_ = review_policy(settings_);
    AdmissionCertificate certificate_;
    std::unique_ptr<kube::ApiServer> server_;
    std::unique_ptr<admission::RuntimeInformer> runtimes_;
    std::unique_ptr<ProgressServer> progress_;  // null: not served
    ServingThreads serving_threads_;
};

void Process::add_metrics() {
    net::Metrics& metrics = manager_.metrics();
    add_server_metrics(metrics, [this](const auto& figure) {
        return serving_threads_.total(figure) + (progress_ ? figure(progress_->stats()) : 0);
    });
    metrics.read_gauge("signalbox_admission_in_flight", "Reviews that are being answered.", [this] {
        return serving_threads_.total(
            [](const net::ServerStats& server) { return double(server.in_flight); });
    });
    metrics.read_gauge("signalbox_runtimes", "Runtimes in the watch cache.",
                       [this] { return double(runtimes_->size()); });
    add_certificate_metric(metrics, [this] { return certificate_.tls()->not_after(); });
}

std::vector<std::string> Process::not_ready() {
    std::vector<std::string> reasons;
    if (!certificate_.is_trusted()) reasons.emplace_back("no certificate yet that API servers trust");
    if (!certificate_is_valid()) reasons.emplace_back("the certificate has expired");
    if (progress_) std::ranges::move(progress_->not_ready(), std::back_inserter(reasons));
    return reasons;
}

api::Result<> Process::watch_runtimes(const kube::ClusterConfig& config) {
    // Each watch keeps a connection.
    const std::size_t watches = settings_.namespaces.partitions().size() + 1;
    auto server = manager_.connect(config, watches + other_requests_at_once);
    if (!server) return server.error();
    server_ = std::move(*server);
    runtimes_ = std::make_unique<admission::RuntimeInformer>(
        [this](const api::ObjectKey& key, const auto& runtime) { serving_threads_.update(key, runtime); },
        manager_.clock(), manager_.log(), settings_.namespaces);
    for (const auto& [scope, sink] : runtimes_->collections()) manager_.watch(*server_, scope, sink);
    return {};
}

api::Result<> Process::serve_progress(const kube::ClusterConfig& config) {
    if (!settings_.services.progress) return {};
    progress_ = std::make_unique<ProgressServer>(settings_, tools_of(manager_));
    if (auto started = progress_->start(config); !started) return started.error();
    serve_job_metrics(settings_, manager_, *progress_);
    manager_.log().info("listening", {{"what", "progress"}, {"address", progress_->address()}});
    manager_.start("server of progress", progress_->watch());
    return {};
}

api::Result<> Process::serve_admission(const kube::ClusterConfig& config) {
    const net::ServerConfig listen = {.host = settings_.listen.host,
                                      .port = settings_.listen.port,
                                      .tls = certificate_.tls(),
                                      .limits = share(settings_.limits, settings_.threads)};
    const auto port = serving_threads_.start(
        settings_.threads, listen, [&](boost::asio::any_io_executor executor, kube::Clock& clock) {
            return make_api_clients(manager_, std::move(executor), clock, config, settings_, callers_);
        });
    if (!port) return port.error();
    if (settings_.metrics.secure) {
        auto served = manager_.start_metrics_server(config, settings_.metrics.listen, certificate_.tls());
        if (!served) return served.error();
    }
    if (auto started = manager_.start_admin_server(); !started) return started.error();
    manager_.log().info("starting", {{"cluster", config.source},
                                     {"threads", settings_.threads},
                                     {"namespaces", kube::to_string(settings_.namespaces)}});
    const net::HostPort address = {settings_.listen.host, *port};
    manager_.log().info("listening", {{"what", "admission"}, {"address", to_string(address)}});
    if (!certificate_is_valid())
        manager_.log().error(
            "the certificate has expired: replace the file, it is read again",
            {{"file", settings_.tls_cert}, {"not_after", api::format_time(certificate_.tls()->not_after())}});
    return {};
}

net::Task<> Process::stop_taking(bool immediate) {
    if (progress_) progress_->stop_renewing();
    if (immediate) co_return;
    co_await serve_on(settings_.shutdown_delay, [this] {
        serving_threads_.close_after_response();
        if (progress_) progress_->close_after_response();
    });
}

net::Task<> Process::drain(bool immediate) {
    // Concurrently: each of them may take nearly all of the time.
    auto reviews = serving_threads_.drain(immediate ? drain_time_after_bug : drain_time);
    auto reports = end_progress(immediate);
    co_await (std::move(reviews) && std::move(reports));
    server_.reset();
}

net::Task<> Process::end_progress(bool immediate) {
    if (progress_) co_await progress_->end(immediate);
}

api::Result<> Process::run(const kube::ClusterConfig& config) {
    if (auto watched = watch_runtimes(config); !watched) return watched.error();
    certificate_.keep(manager_, *server_);
    if (auto served = serve_progress(config); !served) return served.error();
    add_metrics();
    manager_.ready_after([this] { return not_ready(); });
    if (auto served = serve_admission(config); !served) return served.error();
    const kube::Manager::Shutdown shutdown = {
        .before = [this](bool immediate) { return stop_taking(immediate); },
        .after = [this](bool immediate) { return drain(immediate); }};
    return manager_.run(shutdown);
}

}  // namespace

api::Result<> run(const Settings& settings) {
    if (auto valid = check(settings); !valid) return valid.error();
    const auto config =
        settings.kubeconfig.empty() ? kube::in_cluster_config() : kube::load_kubeconfig(settings.kubeconfig);
    if (!config) return config.error();
    if (!settings.services.admission) return run_progress(settings, *config);
    auto certificate = AdmissionCertificate::open(settings);
    if (!certificate) return certificate.error();
    return Process(settings, std::move(*certificate)).run(*config);
}

}  // namespace webhook
