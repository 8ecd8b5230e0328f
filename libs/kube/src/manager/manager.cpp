#include "kube/manager/manager.hpp"

#include <unistd.h>
#include <csignal>
#include <random>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "net/process/timer.hpp"

namespace kube {

using namespace boost::asio::experimental::awaitable_operators;

namespace {

// Of the 25 s that net::ShutdownLimits grants the end.
constexpr std::chrono::milliseconds release_time{3'000};
constexpr std::chrono::milliseconds admin_drain_time{500};

// Other threads are Boost's, and block signals.
void ignore_further_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

std::string new_identity() {
    char host[256] = "unknown";
    gethostname(host, sizeof host - 1);
    std::random_device random;
    char suffix[32];
    std::snprintf(suffix, sizeof suffix, "_%08x%08x", random(), random());
    return std::string(host) + suffix;
}

Manager::Manager(const ManagerOptions& options)
    : options_(options),
      log_(options.log_level, options.log_format),
      supervisor_(context_, log_, options.shutdown),
      own_clock_(make_clock(context_.get_executor())),
      clock_(*own_clock_) {
    net::add_process_metrics(metrics_);
    net::add_loop_metrics(metrics_, loop_gaps_);
}

Manager::~Manager() = default;

// Answers of the API server itself, and of proxies before it.
void Manager::note(const DatedAnswer& answer) {
    clock_.note(answer);
    if (std::exchange(clock_was_certain_, clock_.is_certain()) == clock_.is_certain()) return;
    if (clock_was_certain_)
        log_.info("the API server's clock is certain again");
    else
        log_.warn(
            "the times in the API server's answers contradict each other: no deadline and no time to live "
            "ends anything until they have agreed for two minutes",
            {{"date", api::format_time(answer.date)}, {"expected", format_micro_time(clock_.wall())}});
}

api::Result<std::unique_ptr<ApiServer>> Manager::connect(const ClusterConfig& config,
                                                         std::size_t max_connections) {
    auto options = api_metrics_.options();
    options.max_connections = max_connections;
    options.on_dated_answer = [this](const DatedAnswer& answer) { note(answer); };
    metrics_.read_gauge("signalbox_clock_uncertain",
                        "1 while the API server's clock is not known for certain: no deadline and no time to "
                        "live ends anything.",
                        [this] { return clock_.is_certain() ? 0 : 1; });
    return make_https_api_server(executor(), clock_, config, std::move(options));
}

api::Result<std::unique_ptr<ApiServer>> Manager::connect(boost::asio::any_io_executor executor, Clock& clock,
                                                         const ClusterConfig& config,
                                                         std::size_t max_connections) {
    auto options = api_metrics_.options();
    options.max_connections = max_connections;
    return make_https_api_server(std::move(executor), clock, config, std::move(options));
}

void Manager::watch(Reflectors& to, ApiServer& server, Scope scope, Sink& sink,
                    Reflector::OnChange on_change) {
    auto reflector =
        std::make_unique<Reflector>(server, clock_, sink, std::move(scope), std::move(on_change));
    start("watch of " + to_string(reflector->scope()), reflector->run());
    api_metrics_.follow(*reflector);
    to.push_back(std::move(reflector));
}

void Manager::watch(ApiServer& server, Scope scope, Sink& sink, std::function<void()> on_change) {
    watch(reflectors_, server, std::move(scope), sink,
          [this, on_change = std::move(on_change)](const Scope& where, const api::Error* error) {
              log_watch(where, error);
              if (on_change) on_change();
          });
}

void Manager::watch_once_installed(ApiServer& server, Scope scope, Sink& sink) {
    watch(optional_reflectors_, server, std::move(scope), sink,
          [this](const Scope& where, const api::Error* error) {
              if (error && error->code == api::Errc::not_found)
                  log_.info("not installed; it will be watched once it is", {{"resource", to_string(where)}});
              else
                  log_watch(where, error);
          });
}

void Manager::log_watch(const Scope& scope, const api::Error* error) {
    const std::string what = to_string(scope);
    if (error)
        log_.warn("cannot watch; trying again", {{"resource", what}, {"error", *error}});
    else
        log_.info("watching", {{"resource", what}});
}

std::unique_ptr<EventRecorder> Manager::record_events(ApiServer& server, const std::string& identity,
                                                      const char* log_key) {
    net::Counter dropped =
        metrics_.counter("signalbox_events_dropped_total", "Events that could not be stored.");
    EventCallbacks callbacks;
    callbacks.dropped = [this, dropped, log_key](const Regarding& regarding, const EventText& text,
                                                 const api::Error& error) mutable {
        dropped.add();
        log_.debug(
            "an event was dropped",
            {{log_key, regarding.key}, {"uid", regarding.uid}, {"reason", text.reason}, {"error", error}});
    };
    callbacks.error = [this](const api::Error* error) {
        if (error)
            log_.warn("cannot store events; the work goes on without them", {{"error", *error}});
        else
            log_.info("events are stored again");
    };
    return std::make_unique<EventRecorder>(executor(), server, clock_, identity, std::move(callbacks));
}

void Manager::elect(ApiServer& server, api::ObjectKey lease, std::string identity,
                    std::function<void()> on_change) {
    LeaderElector::Callbacks callbacks;
    callbacks.started = [this, lease, identity, on_change] {
        log_.info("leading", {{"lease", lease}, {"identity", identity}});
        on_change();
    };
    callbacks.stopped = [this, lease, on_change] {
        log_.warn("no longer leading", {{"lease", lease}});
        on_change();
    };
    callbacks.observed = [this, lease](const std::string& holder) {
        if (holder.empty())
            log_.info("no process holds the lease", {{"lease", lease}});
        else
            log_.info("another process holds the lease", {{"lease", lease}, {"holder", holder}});
    };
    callbacks.error = [this, lease](const api::Error* error) {
        if (error)
            log_.warn("cannot use the lease; trying again", {{"lease", lease}, {"error", *error}});
        else
            log_.info("the lease works again", {{"lease", lease}});
    };
    callbacks.stored = [this](const DatedAnswer& answer) { note(answer); };
    elector_ = std::make_unique<LeaderElector>(server, clock_, std::move(lease), std::move(identity),
                                               std::move(callbacks));
    start("leader election", elector_->run());
}

std::vector<std::string> Manager::not_ready() const {
    std::vector<const Reflector*> reflectors;
    for (const auto& reflector : reflectors_) reflectors.push_back(reflector.get());
    std::vector<std::string> reasons = unsynced(reflectors);
    for (const net::Readiness& readiness : readiness_)
        for (std::string& reason : readiness()) reasons.push_back(std::move(reason));
    if (stopping_) reasons.emplace_back("shutting down");
    return reasons;
}

api::Result<> Manager::start_metrics_server(const ClusterConfig& config, const net::HostPort& listen,
                                            std::shared_ptr<net::Tls> tls) {
    // A client of its own, so that clients without permission delay nothing else.
    auto server = connect(executor(), clock_, config, TokenAuthenticator::requests_at_once);
    if (!server) return server.error();
    reviews_ = std::move(*server);
    guard_ = std::make_unique<MetricsGuard>(*reviews_, clock_, log_,
                                            net::metrics_handler(metrics_, std::move(pages_)));
    auto scrapes = net::start_metrics_server(
        executor(), listen, std::move(tls),
        [this](net::HttpRequest& request) { return guard_->answer(request); }, log_);
    if (!scrapes) return scrapes.error();
    scrapes_ = std::move(*scrapes);
    return {};
}

api::Result<> Manager::start_admin_server() {
    std::optional<net::MetricPages> pages;
    if (!scrapes_) pages = std::move(pages_);
    auto admin = net::start_admin_server(
        executor(), options_.admin_listen, metrics_, [this] { return not_ready(); }, log_, std::move(pages));
    if (!admin) return admin.error();
    admin_ = std::move(*admin);
    return {};
}

net::Task<> Manager::end(const Shutdown& shutdown, bool immediate) {
    stopping_ = true;
    if (shutdown.before) co_await shutdown.before(immediate);
    co_await supervisor_.stop_loops();
    // The next holder need not wait for the lease to expire.
    if (elector_) co_await (elector_->release() || net::sleep_for(release_time));
    if (shutdown.after) co_await shutdown.after(immediate);
    // Scrapes that wait for a review get an answer, too.
    if (reviews_) reviews_->close();
    if (scrapes_) co_await scrapes_->drain(admin_drain_time);
    if (admin_) co_await admin_->drain(admin_drain_time);
}

api::Result<> Manager::run(const Shutdown& shutdown) {
    start("watch of the event loop", loop_gaps_.watch());
    auto lived = supervisor_.run([&](bool immediate) { return end(shutdown, immediate); });
    ignore_further_signals();
    if (lived) log_.info("stopped");
    return lived;
}

}  // namespace kube
