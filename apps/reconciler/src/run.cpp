#include "run.hpp"

#include "controller/cache/cache.hpp"
#include "controller/reconcile/controller.hpp"
#include "controller/reconcile/legacy_finalizers.hpp"
#include "controller/reconcile/metrics.hpp"
#include "controller/reconcile/reconciler.hpp"
#include "kube/client/throttle.hpp"
#include "kube/manager/leader_only.hpp"
#include "kube/manager/manager.hpp"
#include "metrics_certificate.hpp"
#include "runtime/plugin.hpp"

namespace reconciler {
namespace {

// Of the 25 s of net::ShutdownLimits. The next leader should work within 3 s. Every write of a reconcile may
// be its last, as after a crash.
constexpr std::chrono::milliseconds drain_time{1'000};
constexpr std::size_t other_connections = 64;

kube::ManagerOptions manager_options(const Settings& settings) {
    return {.log_level = settings.log_level,
            .log_format = settings.log_format,
            .admin_listen = settings.admin_listen};
}

// The parts of the process; members are in the order of their dependencies.
class Process {
public:
    Process(const Settings& settings, const kube::ClusterConfig& config)
        : settings_(settings),
          manager_(manager_options(settings)),
          pod_namespace_(settings.kubeconfig.empty() ? config.ns : ""),
          identity_(kube::new_identity()) {}

    api::Result<> run(const kube::ClusterConfig& config);

private:
    void make_cache();
    api::Result<> connect(const kube::ClusterConfig& config);
    api::Result<> serve_metrics(const kube::ClusterConfig& config);
    void make_controller();
    void watch();
    void start_loops();
    void enqueue_all();
    net::Task<> drain(bool immediate);
    kube::ServerTime now() const { return kube::ServerTime(manager_.clock()); }

    const Settings& settings_;
    kube::Manager manager_;
    const std::string pod_namespace_;
    const std::string identity_;
    const runtime::Pipeline pipeline_ =
        runtime::make_pipeline(controller::features_of(settings_.build, pod_namespace_));
    std::unique_ptr<kube::ApiServer> server_;
    std::unique_ptr<kube::LeaderOnly> leader_only_;
    std::unique_ptr<kube::ApiServer> throttled_;
    std::unique_ptr<kube::EventRecorder> events_;
    std::unique_ptr<controller::Cache> cache_;
    std::unique_ptr<controller::SharedObjects> shared_;
    std::unique_ptr<controller::Reconciler> reconciler_;
    std::unique_ptr<controller::Controller> controller_;
    std::optional<MetricsCertificate> metrics_certificate_;
};

void Process::make_cache() {
    cache_ = std::make_unique<controller::Cache>(
        [this](const api::ObjectKey& key, const controller::Change& change) {
            controller_->enqueue(key, change);
        },
        settings_.namespaces, pipeline_);
    cache_->on_delete([this](const api::ObjectKey& key, std::string_view uid) {
        // Only the leader logs the end of a job.
        if (manager_.leading()) manager_.log().info("TrainJob is gone", {{"trainjob", key}, {"uid", uid}});
    });
}

api::Result<> Process::connect(const kube::ClusterConfig& config) {
    manager_.log().info("starting", {{"cluster", config.source},
                                     {"identity", identity_},
                                     {"namespaces", kube::to_string(settings_.namespaces)}});
    // Each watch keeps a connection, and each reconcile may need one at the same time; the others are for
    // events and for the lease, which must not wait.
    const std::size_t connections =
        cache_->collections().size() + static_cast<std::size_t>(settings_.concurrency) + other_connections;
    auto server = manager_.connect(config, connections);
    if (!server) return server.error();
    server_ = std::move(*server);
    leader_only_ = std::make_unique<kube::LeaderOnly>(*server_, [this] { return manager_.leading(); });
    throttled_ = kube::make_throttled(*leader_only_, manager_.clock(), settings_.qps, settings_.burst);
    return {};
}

void Process::make_controller() {
    events_ = manager_.record_events(*server_, identity_, "trainjob");
    const controller::ProgressSettings progress =
        controller::progress_settings_of(settings_.build, pod_namespace_);
    cache_->watch_progress(progress.watch, [this] { return now().now; });
    shared_ = std::make_unique<controller::SharedObjects>(manager_.clock(), [this] { enqueue_all(); });
    const lifecycle::Options options = {.created_condition = settings_.created_condition};
    reconciler_ = std::make_unique<controller::Reconciler>(
        *throttled_, *cache_, *events_, manager_.log(), [this] { return now(); }, options,
        controller::BuildContext{pipeline_, *shared_}, progress);
    const controller::Controller::Limits limits = {.concurrency = settings_.concurrency};
    controller_ = std::make_unique<controller::Controller>(
        manager_.executor(), manager_.clock(), *cache_, *reconciler_, manager_.metrics(), manager_.log(),
        [this] { return manager_.leading(); }, limits);
    controller::add_cache_metrics(manager_.metrics(), *cache_);
}

api::Result<> Process::serve_metrics(const kube::ClusterConfig& config) {
    if (!settings_.metrics.secure) return {};
    auto certificate = MetricsCertificate::open(settings_);
    if (!certificate) return certificate.error();
    metrics_certificate_.emplace(std::move(*certificate));
    metrics_certificate_->keep(manager_);
    return manager_.start_metrics_server(config, settings_.metrics.listen, metrics_certificate_->tls());
}

void Process::watch() {
    for (const auto& [scope, sink, may_be_missing] : cache_->collections()) {
        if (may_be_missing)
            manager_.watch_once_installed(*server_, scope, sink);
        else
            manager_.watch(*server_, scope, sink, [this] { controller_->notify(); });
    }
    if (settings_.leader_elect)
        manager_.elect(*server_, lease_of(settings_, pod_namespace_), identity_,
                       [this] { controller_->notify(); });
    manager_.metrics().read_gauge("signalbox_leader",
                                  "1 while this process may act: it holds the lease, or needs none.",
                                  [this] { return manager_.leading() ? 1 : 0; });
}

void Process::start_loops() {
    manager_.start("controller", controller_->run());
    manager_.start("shared objects", shared_->keep_fresh(*throttled_));
    manager_.start("finalizers of runtimes",
                   controller::release_runtimes(*throttled_, *cache_, manager_.clock(), manager_.log(),
                                                [this] { return manager_.leading(); }));
}

// After a change of an object that all TrainJobs are built from.
void Process::enqueue_all() {
    cache_->train_jobs().for_each(
        [this](const api::ObjectKey& key, const auto&) { controller_->enqueue(key); });
}

net::Task<> Process::drain(bool immediate) {
    const auto cut = co_await controller_->drain(immediate ? drain_time.zero() : drain_time);
    if (cut > 0 && !immediate)
        manager_.log().info(
            "reconciles did not end in time; they were cut, and the next leader takes them up",
            {{"reconciles", cut}, {"seconds", drain_time.count() / 1000}});
}

api::Result<> Process::run(const kube::ClusterConfig& config) {
    make_cache();
    if (auto connected = connect(config); !connected) return connected.error();
    make_controller();
    if (auto served = serve_metrics(config); !served) return served.error();
    if (auto started = manager_.start_admin_server(); !started) return started.error();
    watch();
    start_loops();
    const kube::Manager::Shutdown shutdown = {.before = [this](bool immediate) { return drain(immediate); }};
    return manager_.run(shutdown);
}

}  // namespace

api::Result<> run(const Settings& settings) {
    if (auto valid = check(settings); !valid) return valid.error();
    auto config =
        settings.kubeconfig.empty() ? kube::in_cluster_config() : kube::load_kubeconfig(settings.kubeconfig);
    if (!config) return config.error();
    return Process(settings, *config).run(*config);
}

}  // namespace reconciler
