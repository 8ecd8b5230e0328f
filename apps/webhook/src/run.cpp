#include "run.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>

#include "kube/manager/api_metrics.hpp"
#include "serving_threads.hpp"
#include "net/server/admin_server.hpp"
#include "net/process/loop_gaps.hpp"
#include "net/tls/certificate.hpp"
#include "net/process/supervisor.hpp"
#include "net/process/timer.hpp"
#include "net/tls/tls.hpp"
#include "progress_process.hpp"
#include "progress_server.hpp"
#include "admission/rationed_server.hpp"
#include "runtime/plugin.hpp"
#include "admission/runtime_informer.hpp"
#include "certificate/rotator.hpp"
#include "server_metrics.hpp"

namespace webhook {
namespace {

using namespace std::chrono_literals;
using namespace boost::asio::experimental::awaitable_operators;

constexpr auto certificate_poll_interval = 5s;
// Of the 25 s that net::Supervisor grants the end. Longer than any lookup takes with the timeouts that our
// manifests give (10 s): whoever has been let in gets an answer.
constexpr auto drain_time = 22s;
constexpr auto drain_time_after_bug = 3s;
constexpr auto admin_drain_time = 500ms;
// Of each thread; what strangers can make us ask the API server. One review takes about a millisecond.
constexpr std::size_t token_reviews_at_once = 8;
// Of the process: of its certificate.
constexpr std::size_t other_requests_at_once = 8;

admission::Ration ration_of_thread(admission::Ration ration, int threads) {
    ration.per_second /= threads;
    ration.at_once = std::max(ration.at_once / threads, 1);
    return ration;
}

// Shown until the real one is in use, when we are not ready yet; clients have to show theirs all the same.
api::Result<std::shared_ptr<net::Tls>> stand_in(const std::string& client_ca_file) {
    auto client_ca = read_client_ca(client_ca_file);
    if (!client_ca) return client_ca.error();
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const net::CertificateFacts facts = {
        .not_before = now - 1h, .not_after = now + 24h, .dns_names = {"not-ready.invalid"}};
    net::TlsIdentity identity = net::make_self_signed(facts).identity;
    identity.client_ca_pem = std::move(*client_ca);
    return net::Tls::make(identity);
}

std::string instance_name() {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    return "signalbox-webhook-" + std::string(name).substr(0, 80) + "-" + std::to_string(::getpid());
}

// Everything that lives as long as the process; members are in the order in which they need each other.
class Process {
public:
    /// Without `files` the certificate is self-signed, and replaces that of `tls`.
    Process(const Settings& settings, std::shared_ptr<net::Tls> tls, std::optional<net::TlsFileWatcher> files)
        : settings_(settings),
          log_(settings.log_level, settings.log_format),
          review_metrics_(metrics_),
          supervisor_(context_, log_, end_limits(settings)),
          clock_(kube::make_clock(context_.get_executor())),
          files_(std::move(files)),
          tls_(std::move(tls)),
          serving_threads_(context_.get_executor(),
                 {review_metrics_, log_, pipeline_, callers_, settings.namespaces, policy_, loop_gaps_}) {
        net::add_process_metrics(metrics_);
        net::add_loop_metrics(metrics_, loop_gaps_);
    }

    api::Result<> run(const kube::ClusterConfig& config);

private:
    api::Result<std::unique_ptr<kube::ApiServer>> connect(boost::asio::any_io_executor executor,
                                                          kube::Clock& clock,
                                                          const kube::ClusterConfig& config,
                                                          std::size_t connections);
    api::Result<ApiClients> connect_lane(boost::asio::any_io_executor executor, kube::Clock& clock,
                                       const kube::ClusterConfig& config);
    api::Result<> start(const kube::ClusterConfig& config);
    void add_server_metrics();
    void note_watch(const kube::Scope& scope, const api::Error* trouble);
    void note_no_room(const api::ObjectKey& key);
    std::vector<std::string> not_ready() const;
    bool certificate_is_valid() const { return tls_->not_after() > clock_->wall(); }
    net::Task<> end(bool immediate);
    net::Task<> end_progress(bool immediate);

    const Settings& settings_;
    net::Log log_;
    net::Metrics metrics_;
    admission::ReviewMetrics review_metrics_;
    kube::ApiMetrics api_metrics_{log_, metrics_};
    net::LoopGaps loop_gaps_;
    boost::asio::io_context context_{1};
    net::Supervisor supervisor_;
    std::unique_ptr<kube::Clock> clock_;
    const runtime::Pipeline pipeline_ = runtime::make_pipeline(features_of(settings_));
    const admission::AuthPolicy callers_ = auth_policy(settings_);
    const admission::ReviewPolicy policy_ = review_policy(settings_);
    std::optional<net::TlsFileWatcher> files_;
    std::shared_ptr<net::Tls> tls_;
    std::unique_ptr<kube::ApiServer> server_;
    std::unique_ptr<CertificateRotator> signer_;
    std::unique_ptr<admission::RuntimeInformer> runtimes_;
    std::unique_ptr<net::HttpServer> admin_;
    std::unique_ptr<ProgressServer> progress_;  // null: not served
    ServingThreads serving_threads_;
    kube::SteadyTime no_room_told_ = kube::SteadyTime::min();
    bool stopping_ = false;
};

api::Result<std::unique_ptr<kube::ApiServer>> Process::connect(boost::asio::any_io_executor executor,
                                                               kube::Clock& clock,
                                                               const kube::ClusterConfig& config,
                                                               std::size_t connections) {
    auto options = api_metrics_.options();
    options.max_connections = connections;
    return kube::make_https_api_server(std::move(executor), clock, config, std::move(options));
}

api::Result<ApiClients> Process::connect_lane(boost::asio::any_io_executor executor, kube::Clock& clock,
                                            const kube::ClusterConfig& config) {
    auto lookups = connect(executor, clock, config, admission::lookup_limits::connections);
    if (!lookups) return lookups.error();
    ApiClients upstream = {.lookups = std::move(*lookups)};
    const bool callers_are_unknown = callers_.audience.empty() && settings_.client_ca.empty();
    if (callers_are_unknown)
        upstream.lookups =
            admission::make_rationed(std::move(upstream.lookups), clock, ration_of_thread(admission::Ration(), settings_.threads));
    if (callers_.audience.empty()) return upstream;
    auto reviews = connect(std::move(executor), clock, config, token_reviews_at_once);
    if (!reviews) return reviews.error();
    upstream.token_reviews = std::move(*reviews);
    return upstream;
}

void Process::note_watch(const kube::Scope& scope, const api::Error* trouble) {
    const std::string what = to_string(scope);
    if (trouble)
        log_.warn("cannot watch; trying again", {{"resource", what}, {"error", *trouble}});
    else
        log_.info("watching", {{"resource", what}});
}

// Writing runtimes must not fill the log.
void Process::note_no_room(const api::ObjectKey& key) {
    const auto now = clock_->now();
    if (now < no_room_told_ + 1min) return;
    no_room_told_ = now;
    log_.warn("too many or too large runtimes in namespaces: reading this one whenever it is used",
              {{"runtime", key}});
}

void Process::add_server_metrics() {
    webhook::add_server_metrics(metrics_, [this](const auto& figure) {
        return serving_threads_.total(figure) + (progress_ ? figure(progress_->stats()) : 0);
    });
    metrics_.read_gauge("signalbox_admission_in_flight", "Reviews that are being answered.", [this] {
        return serving_threads_.total([](const net::ServerStats& server) { return double(server.in_flight); });
    });
    metrics_.read_gauge("signalbox_runtimes", "Runtimes in the watch cache.",
                        [this] { return double(runtimes_->size()); });
    add_certificate_metric(metrics_, [this] { return tls_->not_after(); });
    for (const auto& watch : runtimes_->watches()) api_metrics_.follow(*watch);
}

std::vector<std::string> Process::not_ready() const {
    std::vector<std::string> reasons = runtimes_->not_synced();
    if (signer_ && !signer_->in_use()) reasons.emplace_back("no certificate yet that API servers trust");
    if (!certificate_is_valid()) reasons.emplace_back("the certificate has expired");
    if (progress_) std::ranges::move(progress_->not_ready(), std::back_inserter(reasons));
    if (stopping_) reasons.emplace_back("shutting down");
    return reasons;
}

api::Result<> Process::start(const kube::ClusterConfig& config) {
    // Each watch keeps a connection.
    const std::size_t watches = settings_.namespaces.sections().size() + 1;
    auto server = connect(context_.get_executor(), *clock_, config, watches + other_requests_at_once);
    if (!server) return server.error();
    server_ = std::move(*server);
    runtimes_ = std::make_unique<admission::RuntimeInformer>(
        *server_, *clock_,
        [this](const api::ObjectKey& key, const auto& runtime) { serving_threads_.update(key, runtime); },
        [this](const kube::Scope& scope, const api::Error* trouble) { note_watch(scope, trouble); },
        settings_.namespaces, [this](const api::ObjectKey& key) { note_no_room(key); });
    if (!files_) {
        CertificateRotator::Options options = {.secret = settings_.cert_secret,
                                       .service = settings_.service,
                                       .lifetime = settings_.cert_lifetime,
                                       .client_ca_file = settings_.client_ca,
                                       .instance = instance_name()};
        signer_ = std::make_unique<CertificateRotator>(*server_, *clock_, std::move(options), *tls_, log_);
    }
    if (settings_.services.progress) {
        const ProgressTools tools = {log_, metrics_, loop_gaps_, api_metrics_};
        progress_ = std::make_unique<ProgressServer>(settings_, tools);
        if (auto started = progress_->start(config); !started) return started.error();
        log_.info("listening", {{"what", "progress"}, {"address", progress_->address()}});
    }
    add_server_metrics();

    const net::ServerConfig listen = {.host = settings_.listen.host,
                                      .port = settings_.listen.port,
                                      .tls = tls_,
                                      .limits = share(settings_.limits, settings_.threads)};
    const auto port = serving_threads_.start(settings_.threads, listen,
                                   [&](boost::asio::any_io_executor executor, kube::Clock& clock) {
                                       return connect_lane(std::move(executor), clock, config);
                                   });
    if (!port) return port.error();
    auto admin = net::start_admin_server(
        context_.get_executor(), settings_.admin_listen, metrics_, [this] { return not_ready(); }, log_);
    if (!admin) return admin.error();
    admin_ = std::move(*admin);

    log_.info("starting",
              {{"cluster", config.source},
               {"threads", settings_.threads},
               {"namespaces", settings_.namespaces.is_limited() ? kube::to_string(settings_.namespaces)
                                                                : std::string("all")}});
    const net::HostPort address = {settings_.listen.host, *port};
    log_.info("listening", {{"what", "admission"}, {"address", to_string(address)}});
    if (!certificate_is_valid())
        log_.error("the certificate has expired: replace the file, it is read again",
                   {{"file", settings_.tls_cert}, {"not_after", api::format_time(tls_->not_after())}});
    return {};
}

net::Task<> Process::end(bool immediate) {
    // First of all: no new clients are sent here while the old ones are served.
    stopping_ = true;
    if (progress_) progress_->stop_vouching();
    if (!immediate) {
        // In the last part of it clients that keep connections are asked to move on; when those that are
        // idle are closed then, nobody is just about to use them.
        const auto farewell = settings_.shutdown_delay / 5;
        co_await net::sleep_for(settings_.shutdown_delay - farewell);
        serving_threads_.close_after_response();
        if (progress_) progress_->close_after_response();
        co_await net::sleep_for(farewell);
    }
    co_await supervisor_.stop_loops();
    // Side by side: each of them may take nearly all of the time.
    auto reviews = serving_threads_.drain(immediate ? drain_time_after_bug : drain_time);
    auto reports = end_progress(immediate);
    co_await (std::move(reviews) && std::move(reports));
    co_await admin_->drain(admin_drain_time);
    server_.reset();
}

net::Task<> Process::end_progress(bool immediate) {
    if (progress_) co_await progress_->end(immediate);
}

api::Result<> Process::run(const kube::ClusterConfig& config) {
    if (auto started = start(config); !started) return started.error();
    supervisor_.start("watch of the event loop", loop_gaps_.watch());
    for (const auto& watch : runtimes_->watches())
        supervisor_.start("watch of " + to_string(watch->scope()), watch->run());
    if (files_)
        supervisor_.start("watch of the certificate", net::follow(*files_, certificate_poll_interval, log_));
    else
        supervisor_.start("care of the certificate", signer_->run());
    if (progress_) supervisor_.start("server of progress", progress_->watch());
    auto lived = supervisor_.run([this](bool immediate) { return end(immediate); });
    if (lived) log_.info("stopped");
    return lived;
}

}  // namespace

api::Result<> run(const Settings& settings) {
    if (auto valid = check(settings); !valid) return valid.error();
    const auto config =
        settings.kubeconfig.empty() ? kube::in_cluster_config() : kube::load_kubeconfig(settings.kubeconfig);
    if (!config) return config.error();
    if (!settings.services.admission) return run_progress(settings, *config);
    if (settings.self_signed) {
        auto tls = stand_in(settings.client_ca);
        if (!tls) return tls.error();
        return Process(settings, std::move(*tls), std::nullopt).run(*config);
    }
    auto files = net::TlsFileWatcher::open({settings.tls_cert, settings.tls_key, settings.client_ca});
    if (!files) return files.error();
    auto tls = files->tls();
    return Process(settings, std::move(tls), std::move(*files)).run(*config);
}

}  // namespace webhook
