#include "run.hpp"

#include <unistd.h>
#include <csignal>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <random>

#include "controller/cache/cache.hpp"
#include "kube/manager/clock_watch.hpp"
#include "heap.hpp"
#include "kube/manager/api_metrics.hpp"
#include "kube/manager/leader_elector.hpp"
#include "kube/watch/reflector.hpp"
#include "kube/client/throttle.hpp"
#include "kube/manager/leader_only.hpp"
#include "controller/reconcile/legacy_finalizers.hpp"
#include "net/server/admin_server.hpp"
#include "net/process/loop_gaps.hpp"
#include "net/process/supervisor.hpp"
#include "controller/reconcile/reconciler.hpp"
#include "runtime/plugin.hpp"
#include "controller/reconcile/controller.hpp"

namespace reconciler {

using namespace boost::asio::experimental::awaitable_operators;

namespace {

// Of the 25 s that net::Supervisor grants the end: passes, then the lease, then whoever reads our metrics.
// The successor is to work within 3 s; every write of a pass may be its last, as after a crash.
constexpr std::chrono::milliseconds drain_time{1'000};
constexpr std::chrono::milliseconds release_time{3'000};
constexpr std::chrono::milliseconds admin_drain_time{500};
constexpr std::size_t watched_kinds = 6;
constexpr std::size_t other_connections = 64;

// Differs between any two processes, also of the same pod: the host's name and 64 random bits.
std::string new_identity() {
    char host[256] = "unknown";
    gethostname(host, sizeof host - 1);
    std::random_device random;
    char suffix[32];
    std::snprintf(suffix, sizeof suffix, "_%08x%08x", random(), random());
    return std::string(host) + suffix;
}

// The order to end has been obeyed: repeating it must not turn the exit status of a good end into a signal's.
// The other threads, if there are any, are Boost's, and take no signals.
void ignore_orders_to_end() {
    sigset_t orders;
    sigemptyset(&orders);
    sigaddset(&orders, SIGTERM);
    sigaddset(&orders, SIGINT);
    pthread_sigmask(SIG_BLOCK, &orders, nullptr);
}

api::Time wall_clock() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

// Everything that lives as long as the process; members are in the order in which they need each other.
class Process {
public:
    Process(const Settings& settings, const kube::ClusterConfig& config)
        : settings_(settings),
          log_(settings.log_level, settings.log_format),
          clock_(kube::make_clock(context_.get_executor())),
          identity_(new_identity()),
          lease_(lease_of(settings, settings.kubeconfig.empty() ? config.ns : "")) {
        net::add_process_metrics(metrics_);
        net::add_loop_metrics(metrics_, loop_gaps_);
    }

    api::Result<> run(kube::ClusterConfig config);

private:
    api::Result<> connect(kube::ClusterConfig config);
    using Sections = std::vector<kube::Section>;
    void watch(kube::Resource resource, const Sections& sections, api::JsonPaths omit = {});
    void watch_once_installed(kube::Resource resource, const Sections& sections);
    void start(std::vector<std::unique_ptr<kube::Reflector>>& to, kube::Scope scope, kube::Sink& sink,
               kube::Reflector::OnChange on_change);
    void tell(const kube::Scope& scope, const api::Error* trouble);
    kube::EventCallbacks event_callbacks();
    void elect();
    void wake_all();
    bool leading() const { return !settings_.leader_elect || (elector_ && elector_->leading()); }
    void add_cache_metrics();
    std::uint64_t work_done() const;
    std::vector<std::string> not_ready() const;
    net::Task<> end(bool immediate);

    const Settings& settings_;
    net::Log log_;
    net::Metrics metrics_;
    kube::ApiMetrics api_metrics_{log_, metrics_};
    net::LoopGaps loop_gaps_;
    kube::ClockWatch clock_watch_{log_, metrics_};
    boost::asio::io_context context_{1};
    net::Supervisor supervisor_{context_, log_};
    std::unique_ptr<kube::Clock> clock_;
    std::string identity_;
    api::ObjectKey lease_;
    std::unique_ptr<kube::ApiServer> server_;
    std::unique_ptr<kube::LeaderOnly> leader_only_;
    std::unique_ptr<kube::ApiServer> throttled_;
    std::unique_ptr<kube::EventRecorder> events_;
    std::unique_ptr<controller::Cache> cache_;
    runtime::Pipeline pipeline_ = {};
    std::unique_ptr<controller::SharedObjects> shared_;
    std::unique_ptr<controller::Reconciler> reconciler_;
    std::unique_ptr<controller::Controller> controller_;
    std::vector<std::unique_ptr<kube::Reflector>> reflectors_;
    std::vector<std::unique_ptr<kube::Reflector>> optional_reflectors_;  // nothing waits for their lists
    std::unique_ptr<kube::LeaderElector> elector_;
    std::unique_ptr<net::HttpServer> admin_;
    bool stopping_ = false;
};

api::Result<> Process::connect(kube::ClusterConfig config) {
    log_.info("starting",
              {{"cluster", config.source},
               {"identity", identity_},
               {"namespaces", settings_.namespaces.is_limited() ? kube::to_string(settings_.namespaces)
                                                                : std::string("all")}});
    auto options = api_metrics_.options();
    options.on_dated_answer = [this](const kube::DatedAnswer& answer) { clock_watch_.note(answer); };
    // Each watch keeps a connection, and each pass may want one at the same time; the others are for events
    // and for the lease, which does not wait in line.
    options.max_connections = watched_kinds * settings_.namespaces.sections().size() +
                              static_cast<std::size_t>(settings_.concurrency) + other_connections;
    auto server =
        kube::make_https_api_server(context_.get_executor(), *clock_, std::move(config), std::move(options));
    if (!server) return server.error();
    server_ = std::move(*server);
    return {};
}

void Process::start(std::vector<std::unique_ptr<kube::Reflector>>& to, kube::Scope scope, kube::Sink& sink,
                    kube::Reflector::OnChange on_change) {
    const std::string name = "watch of " + kube::to_string(scope);
    auto reflector =
        std::make_unique<kube::Reflector>(*server_, *clock_, sink, std::move(scope), std::move(on_change));
    supervisor_.start(name, reflector->run());
    api_metrics_.follow(*reflector);
    to.push_back(std::move(reflector));
}

void Process::watch(kube::Resource resource, const Sections& sections, api::JsonPaths omit) {
    const auto on_change = [this](const kube::Scope& scope, const api::Error* trouble) {
        tell(scope, trouble);
        controller_->notify();
    };
    for (const kube::Section& section : sections)
        start(reflectors_, {.resource = resource, .ns = section.ns, .omit = omit}, section.sink,
              on_change);
}

// A kind that clusters can do without, and may get later. The reflector looks every half a minute.
void Process::watch_once_installed(kube::Resource resource, const Sections& sections) {
    const auto on_change = [this](const kube::Scope& scope, const api::Error* trouble) {
        if (trouble && trouble->code == api::Errc::not_found)
            log_.info("not installed; it will be watched once it is", {{"resource", kube::to_string(scope)}});
        else
            tell(scope, trouble);
    };
    for (const kube::Section& section : sections)
        start(optional_reflectors_, {.resource = resource, .ns = section.ns, .metadata_only = true},
              section.sink, on_change);
}

void Process::tell(const kube::Scope& scope, const api::Error* trouble) {
    const std::string what = kube::to_string(scope);
    if (trouble)
        log_.warn("cannot watch; trying again", {{"resource", what}, {"error", *trouble}});
    else
        log_.info("watching", {{"resource", what}});
}

kube::EventCallbacks Process::event_callbacks() {
    net::Counter dropped =
        metrics_.counter("signalbox_events_dropped_total", "Events that could not be stored.");
    kube::EventCallbacks callbacks;
    callbacks.dropped = [this, dropped](const kube::Regarding& regarding, const kube::EventText& text,
                                        const api::Error& error) mutable {
        dropped.add();
        log_.debug(
            "an event was dropped",
            {{"trainjob", regarding.key}, {"uid", regarding.uid}, {"reason", text.reason}, {"error", error}});
    };
    callbacks.trouble = [this](const api::Error* trouble) {
        if (trouble)
            log_.warn("cannot store events; the work goes on without them", {{"error", *trouble}});
        else
            log_.info("events are stored again");
    };
    return callbacks;
}

void Process::elect() {
    metrics_.read_gauge("signalbox_leader",
                        "1 while this process may act: it holds the lease, or needs none.",
                        [this] { return leading() ? 1 : 0; });
    if (!settings_.leader_elect) return;
    kube::LeaderElector::Callbacks callbacks;
    callbacks.started = [this] {
        log_.info("leading", {{"lease", lease_}, {"identity", identity_}});
        controller_->notify();
    };
    callbacks.stopped = [this] {
        log_.warn("no longer leading", {{"lease", lease_}});
        controller_->notify();
    };
    callbacks.observed = [this](const std::string& holder) {
        log_.info("the lease is held", {{"lease", lease_}, {"holder", holder.empty() ? "nobody" : holder}});
    };
    callbacks.trouble = [this](const api::Error* trouble) {
        if (trouble)
            log_.warn("cannot use the lease; trying again", {{"lease", lease_}, {"error", *trouble}});
        else
            log_.info("the lease works again", {{"lease", lease_}});
    };
    elector_ =
        std::make_unique<kube::LeaderElector>(*server_, *clock_, lease_, identity_, std::move(callbacks));
    supervisor_.start("leader election", elector_->run());
}

void Process::add_cache_metrics() {
    using lifecycle::State;
    static constexpr std::pair<const char*, State> states[] = {
        {"pending", State::pending},     {"blocked", State::blocked},   {"running", State::running},
        {"suspended", State::suspended}, {"complete", State::complete}, {"failed", State::failed},
        {"elsewhere", State::elsewhere}};
    static_assert(std::size(states) == lifecycle::state_count);
    for (const auto& [name, state] : states)
        metrics_.read_gauge("signalbox_train_jobs", "TrainJobs by their state.",
                            [this, state = state] { return static_cast<double>(cache_->count(state)); },
                            {{"state", name}});
    const auto add = [this](const kube::Resource& resource, const auto& store) {
        metrics_.read_gauge("signalbox_store_objects", "Objects in the caches.",
                            [&store] { return static_cast<double>(store.size()); },
                            {{"resource", kube::to_string(resource)}});
    };
    add(kube::resources::train_jobs, cache_->train_jobs());
    add(kube::resources::job_sets, cache_->job_sets());
    add(kube::resources::training_runtimes, cache_->training_runtimes());
    add(kube::resources::cluster_training_runtimes, cache_->cluster_training_runtimes());
    add(kube::resources::pod_groups, cache_->pod_groups());
    add(kube::resources::volcano_pod_groups, cache_->volcano_pod_groups());
}

// What all TrainJobs have in common has changed.
void Process::wake_all() {
    cache_->train_jobs().for_each([this](const api::ObjectKey& key, const auto&) { controller_->enqueue(key); });
}

std::uint64_t Process::work_done() const {
    std::uint64_t objects_received = 0;
    for (const auto* reflectors : {&reflectors_, &optional_reflectors_})
        for (const auto& reflector : *reflectors) objects_received += reflector->objects_received();
    return heap_work(controller_->passes(), objects_received);
}

std::vector<std::string> Process::not_ready() const {
    std::vector<const kube::Reflector*> reflectors;
    for (const auto& reflector : reflectors_) reflectors.push_back(reflector.get());
    std::vector<std::string> reasons = kube::unsynced(reflectors);
    if (stopping_) reasons.emplace_back("shutting down");
    return reasons;
}

net::Task<> Process::end(bool immediate) {
    stopping_ = true;
    const auto cut = co_await controller_->drain(immediate ? drain_time.zero() : drain_time);
    if (cut > 0 && !immediate)
        log_.info("passes did not end in time; they were cut, and the next leader takes them up",
                  {{"passes", cut}, {"seconds", drain_time.count() / 1000}});
    co_await supervisor_.stop_loops();
    // The next holder need not wait for the lease to expire.
    if (elector_) co_await (elector_->release() || net::sleep_for(release_time));
    co_await admin_->drain(admin_drain_time);
}

api::Result<> Process::run(kube::ClusterConfig config) {
    const std::string pod_namespace = settings_.kubeconfig.empty() ? config.ns : "";
    if (auto connected = connect(std::move(config)); !connected) return connected.error();
    leader_only_ = std::make_unique<kube::LeaderOnly>(*server_, [this] { return leading(); });
    throttled_ = kube::make_throttled(*leader_only_, *clock_, settings_.qps, settings_.burst);
    events_ = std::make_unique<kube::EventRecorder>(context_.get_executor(), *server_, *clock_, identity_,
                                                    event_callbacks());
    cache_ = std::make_unique<controller::Cache>(
        [this](const api::ObjectKey& key, const controller::Change& change) { controller_->enqueue(key, change); },
        settings_.namespaces);
    cache_->on_delete([this](const api::ObjectKey& key, std::string_view uid) {
        // Its story ends in one log only: of the one who told it.
        if (leading()) log_.info("TrainJob is gone", {{"trainjob", key}, {"uid", uid}});
    });
    pipeline_ = runtime::make_pipeline({.status_server = status_server_of(settings_, pod_namespace)});
    shared_ = std::make_unique<controller::SharedObjects>(*clock_, [this] { wake_all(); });
    const lifecycle::Options options = {.created_condition = settings_.created_condition};
    reconciler_ = std::make_unique<controller::Reconciler>(*throttled_, *cache_, *events_, log_, wall_clock, options,
                                   controller::BuildContext{pipeline_, *shared_});
    const controller::Controller::Limits limits = {.concurrency = settings_.concurrency};
    controller_ = std::make_unique<controller::Controller>(
        context_.get_executor(), *clock_, *cache_, *reconciler_, metrics_, log_, [this] { return leading(); },
        limits);

    add_cache_metrics();

    auto admin = net::start_admin_server(
        context_.get_executor(), settings_.admin_listen, metrics_, [this] { return not_ready(); }, log_);
    if (!admin) return admin.error();
    admin_ = std::move(*admin);

    watch(kube::resources::train_jobs, cache_->train_jobs().sections());
    watch(kube::resources::job_sets, cache_->job_sets().sections(), controller::Cache::omitted_of_job_sets);
    watch(kube::resources::training_runtimes, cache_->training_runtimes().sections());
    watch(kube::resources::cluster_training_runtimes, cache_->cluster_training_runtimes().sections());
    watch_once_installed(kube::resources::pod_groups, cache_->pod_groups().sections());
    watch_once_installed(kube::resources::volcano_pod_groups, cache_->volcano_pod_groups().sections());
    elect();

    supervisor_.start("watch of the event loop", loop_gaps_.watch());
    supervisor_.start("worker", controller_->run());
    supervisor_.start("shared objects", shared_->keep_fresh(*throttled_));
    supervisor_.start("finalizers of runtimes",
                      controller::release_runtimes(*throttled_, *cache_, *clock_, log_, [this] { return leading(); }));
    const auto trim = [this] {
        controller_->forget_old();
        give_memory_back();
    };
    supervisor_.start("heap", trim_heap_when_calm(
                                  *clock_, [this] { return work_done(); }, trim));
    const auto awaited = [this]() -> std::size_t {
        if (!cache_->synced_somewhere()) return 0;  // no pause between the pieces of the first lists
        return controller_->is_full() ? controller_->reconciles_running() : net::unlimited;
    };
    auto lived = supervisor_.run([this](bool immediate) { return end(immediate); }, awaited);
    ignore_orders_to_end();
    if (lived) log_.info("stopped");
    return lived;
}

}  // namespace

api::Result<> run(const Settings& settings) {
    if (auto valid = check(settings); !valid) return valid.error();
    auto config =
        settings.kubeconfig.empty() ? kube::in_cluster_config() : kube::load_kubeconfig(settings.kubeconfig);
    if (!config) return config.error();
    keep_heap_small();
    return Process(settings, *config).run(*config);
}

}  // namespace reconciler
