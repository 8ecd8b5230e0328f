#include "process.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include "leadership.hpp"
#include "runtime/pipeline.hpp"

namespace model {
namespace {

namespace asio = boost::asio;
constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);

using Signal = std::shared_ptr<asio::steady_timer>;
Signal make_signal(asio::io_context& context) {
    return std::make_shared<asio::steady_timer>(context, kube::SteadyTime::max());
}

api::Error lost() { return {.code = api::Errc::unavailable, .message = "connection lost"}; }

int number_after(const std::string& text, std::string_view name, int otherwise) {
    const auto at = text.find(name);
    return at == std::string::npos ? otherwise : std::stoi(text.substr(at + name.size()));
}

}  // namespace

kube::Task<> ProcessClock::sleep_until(kube::SteadyTime when) {
    if (when <= now()) co_return;
    const Signal signal = make_signal(process_.context());
    Process& process = process_;
    const auto entry = world_.time.at(when, [signal, &process] {
        if (!process.alive()) return;
        signal->cancel();
        process.poll();
    });
    co_await signal->async_wait(as_tuple);
    world_.time.cancel(entry);
    if (when > now()) throw boost::system::system_error(asio::error::operation_aborted);
}

OpenWatch::OpenWatch(World& world, Process& process, const kube::Request& request)
    : world_(world),
      process_(process),
      resource_(kube::resource_of(request.target)),
      changed_(make_signal(process.context())) {
    const bool goes_on = request.target.find("sendInitialEvents") == std::string::npos;
    if (goes_on && process_.expired.contains(resource_))
        world_.invariants.complain("the history of " + resource_ + ", which is gone, was asked for again");
    process_.expired.erase(resource_);
    const WatchStart start = start_watch(world_.api, request.target);
    if (start.ended) process_.expired.insert(resource_);
    next_change_ = start.next_change;
    lines_.assign(start.lines.begin(), start.lines.end());
    if (start.ended) close();
    const std::chrono::seconds timeout(number_after(request.target, "timeoutSeconds=", 300));
    world_.time.after(timeout, [this, alive = alive_] {
        if (*alive) close();
    });
    world_.opened(*this);
    look();
}

OpenWatch::~OpenWatch() {
    *alive_ = false;
    world_.closed(*this);
}

void OpenWatch::close() {
    closed_ = true;
    changed_->cancel();
    // Not at once: otherwise a caller that closes several watches would also close those opened in their
    // place.
    world_.time.after(std::chrono::milliseconds(0), [&process = process_] {
        if (process.alive()) process.poll();
    });
}

void OpenWatch::expire() {
    process_.expired.insert(resource_);
    lines_.push_back({expired_line()});
    close();
}

// One line at a time, each with its own delay: the order stays, and other watches may be ahead.
void OpenWatch::look() {
    if (planned_ || closed_ || next_change_ >= world_.api.history(resource_).size()) return;
    planned_ = true;
    world_.time.after(world_.watch_lag(), [this, alive = alive_] {
        if (*alive) deliver();
    });
}

void OpenWatch::deliver() {
    planned_ = false;
    const auto& history = world_.api.history(resource_);
    if (closed_ || !process_.alive() || next_change_ >= history.size()) return;
    const auto show = world_.show(process_.number(), resource_, static_cast<int>(next_change_));
    if (show == World::Show::later) return;
    const Change& change = history[next_change_++];
    look();
    if (show != World::Show::yes) return;
    lines_.push_back({event_line(change), seen_in(change)});
    changed_->cancel();
    process_.poll();  // this may end the watch
}

kube::Async<std::string> OpenWatch::next() {
    while (lines_.empty()) {
        if (closed_) co_return std::string();
        co_await changed_->async_wait(as_tuple);
        if (lines_.empty() && !closed_ && !process_.alive()) co_return lost();
    }
    const WatchStart::Line line = std::move(lines_.front());
    lines_.pop_front();
    if (!line.seen.key.name.empty()) process_.knowledge().note(resource_, line.seen);
    co_return line.text;
}

Process::Process(World& world, int number, std::chrono::seconds clock_skew)
    : world_(world),
      number_(number),
      own_clock_(world, *this, clock_skew),
      log_(net::LogLevel::error, net::LogFormat::json,
           [this](std::string_view line) { world_.invariants.logged(line); }),
      leader_only_(*this, [this] { return leading(); }),
      events_(context_.get_executor(), *this, clock_, Leadership::identity(number)),
      cache_([this](const api::ObjectKey& key, const controller::Change& change) {
          controller_.enqueue(key, change);
      }),
      shared_(clock_),
      reconciler_(leader_only_, cache_, events_, log_, [this] { return kube::ServerTime(clock_); }, {},
                  {runtime::default_pipeline(), shared_},
                  {.watch = lifecycle::ProgressWatch::deadlines, .lease = World::reports_lease}),
      controller_(context_.get_executor(), clock_, cache_, reconciler_, metrics_, log_,
                  [this] { return leading(); }, {}),
      loops_(context_.get_executor()) {
    cache_.watch_progress(lifecycle::ProgressWatch::deadlines,
                          [this] { return kube::ServerTime(clock_).now; });
    follow(kube::resources::train_jobs, cache_.train_jobs().partitions());
    follow(kube::resources::job_sets, cache_.job_sets().partitions());
    follow(kube::resources::training_runtimes, cache_.training_runtimes().partitions());
    follow(kube::resources::cluster_training_runtimes, cache_.cluster_training_runtimes().partitions());
    for (const controller::Cache::OwnedKind& kind : cache_.owned_kinds())
        follow(kind.resource, kind.objects->partitions());
    if (world.fault.elected) elect();
    loops_.start(controller_.run(), [this](const std::exception_ptr& thrown) {
        world_.invariants.complain("the worker ended: " + net::what_of(thrown));
    });
}

void Process::follow(kube::Resource resource, const std::vector<kube::Partition>& partitions) {
    for (const kube::Partition& partition : partitions) {
        auto reflector = std::make_unique<kube::Reflector>(
            *this, clock_, partition.sink, kube::Scope{.resource = resource, .ns = partition.ns},
            [this](const kube::Scope&, const api::Error*) { controller_.notify(); });
        loops_.start(reflector->run(), [this](const std::exception_ptr& thrown) {
            world_.invariants.complain("a reflector ended: " + net::what_of(thrown));
        });
        reflectors_.push_back(std::move(reflector));
    }
}

void Process::elect() {
    kube::LeaderElector::Callbacks callbacks;
    callbacks.started = [this] { controller_.notify(); };
    callbacks.stopped = [this] { controller_.notify(); };
    // Renewals of the lease dominate a run, so there are as few as possible.
    const kube::LeaseTimes times = {.retry_period = std::chrono::seconds(5)};
    elector_ = std::make_unique<kube::LeaderElector>(
        *this, clock_, World::lease, Leadership::identity(number_), std::move(callbacks), times);
    loops_.start(elector_->run(), [this](const std::exception_ptr& thrown) {
        world_.invariants.complain("the election ended: " + net::what_of(thrown));
    });
}

// Ends all waiting operations in order, so that nothing is left; the world sees no effect.
Process::~Process() {
    alive_ = false;
    ending_ = true;
    for (const auto& [id, signal] : calls_) signal->cancel();
    const auto end = [this]() -> kube::Task<> {
        co_await controller_.drain(std::chrono::milliseconds(0));
        co_await loops_.join();
    };
    asio::co_spawn(context_, end(), asio::detached);
    context_.restart();
    context_.poll();
}

void Process::notify() {
    if (!alive_) return;
    cache_.train_jobs().for_each(
        [this](const api::ObjectKey& key, const auto&) { controller_.enqueue(key); });
    poll();
}

void Process::go_on() {
    stopped_ = false;
    if (alive_) poll();
}

void Process::poll() {
    if (stopped_) return;
    context_.restart();
    context_.poll();
}

kube::Async<kube::Response> Process::send(kube::Request request) {
    if (ending_) co_return lost();
    const std::uint64_t id = calls_made_++;
    const Signal signal = make_signal(context_);
    calls_[id] = signal;
    const kube::SteadyTime sent = clock_.now();
    const auto answer = std::make_shared<std::optional<api::Result<kube::Response>>>();
    world_.submit(*this, std::move(request), [signal, answer, this](api::Result<kube::Response> result) {
        *answer = std::move(result);
        signal->cancel();
        poll();
    });
    co_await signal->async_wait(as_tuple);
    calls_.erase(id);
    if (!*answer) co_return lost();
    note(**answer, sent);
    co_return std::move(**answer);
}

// As kube::Manager does.
void Process::note(const api::Result<kube::Response>& answer, kube::SteadyTime sent) {
    note_lease();
    if (answer && answer->date) clock_.note({.date = *answer->date, .sent = sent, .came = clock_.now()});
}

// The API server stores the time of each renewal in the Lease. No proxy replaces it.
void Process::note_lease() {
    if (renewed_ && clock_.now() < *renewed_ + std::chrono::seconds(5)) return;
    renewed_ = clock_.now();
    clock_.note({.date = world_.time.wall_seconds(), .sent = *renewed_, .came = *renewed_});
}

kube::Async<std::unique_ptr<kube::Watch>> Process::watch(kube::Request request) {
    if (ending_) co_return lost();
    note_lease();
    clock_.note({.date = world_.date(), .sent = clock_.now(), .came = clock_.now()});
    std::unique_ptr<kube::Watch> opened = std::make_unique<OpenWatch>(world_, *this, request);
    co_return std::move(opened);
}

}  // namespace model
