#include "reports/progress_server.hpp"

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "kube/client/server_clock.hpp"
#include "net/process/task_group.hpp"
#include "net/process/timer.hpp"
#include "progress/health.hpp"
#include "progress/lease_keeper.hpp"
#include "progress/report_handler.hpp"
#include "progress/wire.hpp"
#include "reports/report_certificate.hpp"

namespace webhook {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr const char* lease_name = "signalbox-progress";
constexpr auto between_gauges = 1s;
// Of the 25 s of net::Supervisor. Answers take 2 s for tokens, 4 s each for reads, 4 s for a write at worst;
// clients give up after 5 s.
constexpr auto drain_time = 9s;
constexpr auto drain_time_after_bug = 1s;
constexpr auto write_time = 10s;
constexpr double write_factor = 5;
constexpr std::size_t reviews_at_once = 8;
// One for each write and each read at a time.
constexpr std::size_t api_connections = 96;

}  // namespace

class ProgressServer::Impl {
public:
    Impl(const Settings& settings, ProgressTools tools)
        : settings_(settings),
          tools_(tools),
          own_clock_(kube::make_clock(context_.get_executor())),
          clock_(*own_clock_),
          certificate_(settings, *own_clock_, tools.log),
          schedule_(schedule_limits(settings.progress)),
          metrics_(tools.metrics, settings.progress.job_metrics),
          loops_(context_.get_executor()) {}

    ~Impl() {
        context_.stop();
        if (thread_.joinable()) thread_.join();
        // Runs the coroutines of closed connections to their end while the objects that they use exist.
        context_.restart();
        context_.poll();
    }

    api::Result<> start(const kube::ClusterConfig& config);
    net::Task<> watch();
    std::vector<std::string> not_ready() const;
    net::Task<> end_here(bool immediate);

    api::Time certificate_ends() const { return certificate_.ends(); }
    const std::shared_ptr<net::Tls>& tls() const { return certificate_.tls(); }
    std::string job_metrics() { return metrics_.of_jobs().expose(clock_.now()); }

    boost::asio::io_context context_{1};
    std::unique_ptr<net::HttpServer> http_ = {};
    std::atomic<bool> renews_ = true;
    std::string address_ = {};

private:
    api::Result<std::unique_ptr<kube::ApiServer>> connect(const kube::ClusterConfig& config,
                                                          std::size_t connections);
    void start_loop(const char* name, net::Task<> loop);
    progress::Health health() const;
    progress::LeaseKeeper::State lease_state() const;
    net::Task<> show_gauges();

    const Settings& settings_;
    ProgressTools tools_;
    std::unique_ptr<kube::Clock> own_clock_;  // also for other threads
    kube::ServerClock clock_;                 // of the times in reports and in the Lease
    std::unique_ptr<kube::ApiServer> server_ = {};
    ReportCertificate certificate_;
    std::unique_ptr<kube::ApiServer> reviews_ = {};
    std::optional<progress::LeaseKeeper> lease_ = {};
    progress::LastAnswer last_answer_;
    progress::Schedule schedule_;
    progress::Metrics metrics_;
    std::optional<progress::PodAuthenticator> authenticator_ = {};
    std::optional<progress::StatusWriter> writer_ = {};
    std::optional<progress::ReportHandler> handler_ = {};
    net::TaskGroup loops_;
    std::atomic<bool> has_failed_ = false;
    std::thread thread_ = {};
};

api::Result<std::unique_ptr<kube::ApiServer>> ProgressServer::Impl::connect(const kube::ClusterConfig& config,
                                                                            std::size_t connections) {
    auto options = tools_.api_metrics.options();
    options.max_connections = connections;
    options.on_answer = [this, report = options.on_answer](std::string_view verb, const std::string& resource,
                                                           int status) {
        if (status != 0) last_answer_.note(clock_.now());
        if (report) report(verb, resource, status);
    };
    options.on_dated_answer = [this](const kube::DatedAnswer& answer) { clock_.note(answer); };
    return kube::make_https_api_server(context_.get_executor(), clock_, config, std::move(options));
}

api::Result<> ProgressServer::Impl::start(const kube::ClusterConfig& config) {
    auto server = connect(config, api_connections);
    if (!server) return server.error();
    server_ = std::move(*server);
    auto reviews = connect(config, reviews_at_once);
    if (!reviews) return reviews.error();
    reviews_ = std::move(*reviews);
    if (auto opened = certificate_.open(*server_); !opened) return opened.error();
    lease_.emplace(*server_, clock_, tools_.log, api::ObjectKey{.ns = config.ns, .name = lease_name},
                   [this] { return lease_state(); });

    const auto executor = context_.get_executor();
    const progress::PodAuthenticator::Limits limits = {
        .jobs = settings_.progress.jobs, .reviews_by_address = settings_.progress.source_rate > 0};
    authenticator_.emplace(*server_, *reviews_, clock_, schedule_, metrics_, limits);
    writer_.emplace(executor, *server_, clock_, schedule_, metrics_, tools_.log);
    handler_.emplace(*authenticator_, schedule_, *writer_, clock_, metrics_, tools_.log,
                     settings_.namespaces);
    net::ServerConfig listen = {.host = settings_.progress.listen.host,
                                .port = settings_.progress.listen.port,
                                .tls = certificate_.tls(),
                                .limits = report_limits(settings_.progress, settings_.limits),
                                .refuse = progress::http_refusal,
                                .is_to_known = progress::is_to_pod};
    http_ = net::make_http_server(
        executor, std::move(listen), [this](net::HttpRequest& request) { return handler_->answer(request); },
        tools_.log);
    const auto port = http_->start();
    if (!port) return port.error();
    address_ = to_string(net::HostPort{settings_.progress.listen.host, *port});
    tools_.metrics.read_counter(
        "signalbox_progress_limited_total", "Requests that were refused for a limit of this server.",
        [this] { return double(http_->stats().limited); }, {{"limit", "connections"}});

    start_loop("writes of progress", writer_->run());
    certificate_.keep([this](const char* name, net::Task<> loop) { start_loop(name, std::move(loop)); });
    start_loop("Lease of progress", lease_->run());
    start_loop("gauges of progress", show_gauges());
    start_loop("watch of the event loop of progress", tools_.loop_gaps.watch());
    thread_ = std::thread([this] {
        const auto guard = asio::make_work_guard(context_);
        context_.run();
    });
    return {};
}

void ProgressServer::Impl::start_loop(const char* name, net::Task<> loop) {
    loops_.start(std::move(loop), [this, name](const std::exception_ptr& thrown) {
        tools_.log.error("a loop has ended by itself",
                         {{"loop", name}, {"error", thrown ? net::what_of(thrown) : std::string()}});
        has_failed_ = true;
    });
}

net::Task<> ProgressServer::Impl::watch() {
    while (!has_failed_) co_await net::sleep_for(1s);
}

progress::Health ProgressServer::Impl::health() const {
    return {.certificate_is_stored = certificate_.is_stored(),
            .certificate_is_valid = certificate_.is_valid()};
}

progress::LeaseKeeper::State ProgressServer::Impl::lease_state() const {
    return health().lease_state({.are_accepted = renews_,
                                 .writes_work = writer_->writes_work(),
                                 .longest_wait = schedule_.longest_wait(progress::moment_of(clock_))});
}

net::Task<> ProgressServer::Impl::show_gauges() {
    for (;;) {
        metrics_.show(schedule_, authenticator_->tokens(), progress::moment_of(clock_));
        co_await net::sleep_for(between_gauges);
    }
}

std::vector<std::string> ProgressServer::Impl::not_ready() const {
    return health().not_ready(last_answer_.silence(clock_.now()));
}

net::Task<> ProgressServer::Impl::end_here(bool immediate) {
    co_await http_->drain(immediate ? drain_time_after_bug : drain_time);
    if (!immediate) co_await writer_->drain(write_factor, write_time);
    co_await loops_.join();
    co_await writer_->stop();
    server_->close();
    reviews_->close();
}

ProgressServer::ProgressServer(const Settings& settings, ProgressTools tools)
    : impl_(std::make_unique<Impl>(settings, tools)) {}
ProgressServer::~ProgressServer() = default;

api::Result<> ProgressServer::start(const kube::ClusterConfig& config) { return impl_->start(config); }
net::Task<> ProgressServer::watch() { return impl_->watch(); }
std::vector<std::string> ProgressServer::not_ready() const { return impl_->not_ready(); }
const net::ServerStats& ProgressServer::stats() const { return impl_->http_->stats(); }
api::Time ProgressServer::certificate_ends() const { return impl_->certificate_ends(); }
std::string ProgressServer::address() const { return impl_->address_; }
const std::shared_ptr<net::Tls>& ProgressServer::tls() const { return impl_->tls(); }
std::string ProgressServer::job_metrics() const { return impl_->job_metrics(); }
void ProgressServer::stop_renewing() { impl_->renews_ = false; }

void ProgressServer::close_after_response() {
    impl_->context_.get_executor().execute([impl = impl_.get()] { impl->http_->close_after_response(); });
}

void serve_job_metrics(const Settings& settings, kube::Manager& manager, const ProgressServer& server) {
    if (settings.progress.job_metrics > 0)
        manager.serve_page("/metrics/jobs", [&server] { return server.job_metrics(); });
}

net::Task<> ProgressServer::end(bool immediate) {
    // A named variable: g++ 12 sometimes destroys temporaries in a co_await expression twice.
    auto here = impl_->end_here(immediate);
    co_await asio::co_spawn(impl_->context_, std::move(here), asio::use_awaitable);
}

}  // namespace webhook
