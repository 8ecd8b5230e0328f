#include "worker.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>

#include "metered_reads.hpp"

namespace reconciler {

using namespace boost::asio::experimental::awaitable_operators;

namespace {

// Whoever changes whether passes may start wakes us; but a lease can lapse and return without anybody
// noticing.
constexpr std::chrono::seconds look_again_after{1};
// A watch that is this far behind is being re-listed or broken; the preconditions of our writes make acting
// on its view harmless.
constexpr std::chrono::seconds longest_hold_back{15};
constexpr std::chrono::milliseconds hold_back_step{250};
// Who says that a TrainJob is gone which the cache still has may know less than the cache, not more: a server
// that has come back from a backup. Then no event would bring another look.
constexpr std::chrono::seconds until_cache_agrees{5};
// Of a TrainJob, its runtime and its JobSet, that make a pass as dear again as a usual one: about what is
// read, built and written within a millisecond.
constexpr std::size_t bytes_of_a_cost = 8 * 1024;
// What a pass may read without being charged for it (MeteredReads): the objects that its cost counts, with as
// many values as usual ones have, and a little more. Snapshots, keys and PodGroups mostly fit in.
constexpr std::size_t weight_of_bytes = 2;
constexpr std::size_t free_weight = 16 * 1024;
// A pass for which that is not enough begins anew, and counts as dear.
constexpr std::size_t first_grant = 64 * 1024;
constexpr std::size_t growth_of_grants = 4;

}  // namespace

Worker::Worker(boost::asio::any_io_executor executor, kube::Clock& clock, Caches& caches, Pass& pass,
               net::Metrics& metrics, net::Log& log, Allowed allowed, Limits limits)
    : clock_(clock),
      caches_(caches),
      pass_(pass),
      log_(log),
      allowed_(std::move(allowed)),
      queue_(static_cast<std::size_t>(limits.concurrency),
             [this](const api::ObjectKey& key) {
                 const std::size_t bytes = caches_.bytes_of(key) + granted(key);
                 return static_cast<std::int64_t>(1 + bytes / bytes_of_a_cost);
             }),
      wakeup_(executor),
      pass_ended_(executor),
      running_(executor),
      metrics_(metrics) {
    metrics.read_gauge("signalbox_queue_depth",
                       "TrainJobs that wait for a pass and are due; none where no pass may run.",
                       [this] { return allowed_() ? static_cast<double>(queue_.ready()) : 0; });
    metrics.read_gauge("signalbox_queue_timers", "TrainJobs that want a pass at a certain time.",
                       [this] { return static_cast<double>(queue_.waiting()); });
    metrics.read_gauge("signalbox_passes_running", "Passes that are under way.",
                       [this] { return static_cast<double>(running_.size()); });
}

void Worker::wake(const api::ObjectKey& train_job, const News& news) {
    if (const auto running = heard_.find(train_job); running != heard_.end()) {
        Heard& heard = running->second;
        switch (news.of) {
            case News::Of::train_job: heard.latest.train_job = news.resource_version; break;
            case News::Of::job_set: heard.latest.job_set = news.resource_version; break;
            case News::Of::anything_else: heard.of_others = true; break;
        }
        return;
    }
    // There is nothing to be done for what is gone, and where no pass runs it would stay in the queue for
    // good.
    if (!caches_.train_jobs().find(train_job)) return forget(train_job);
    if (is_work_of_ours(train_job, news)) return;
    queue_.add(train_job, clock_.now());
    wakeup_.notify();
}

void Worker::forget(const api::ObjectKey& key) {
    queue_.forget(key);
    pending_.erase(key);
    troubles_.erase(key);
    grants_.erase(key);
}

std::size_t Worker::granted(const api::ObjectKey& key) const {
    const auto at = grants_.find(key);
    return at == grants_.end() ? 0 : at->second;
}

std::size_t Worker::allowed_without_grant(const api::ObjectKey& key) const {
    return free_weight + weight_of_bytes * caches_.bytes_of(key);
}

// A version that a settled pass has written: nobody else has changed that object between what the pass
// decided on and this, because its writes carry what they were decided on.
bool Worker::is_work_of_ours(const api::ObjectKey& key, const News& news) {
    const auto at = pending_.find(key);
    if (at == pending_.end() || !at->second.settled) return false;
    const Written& written = at->second.written;
    const bool ours = (news.of == News::Of::train_job && news.resource_version == written.train_job) ||
                      (news.of == News::Of::job_set && news.resource_version == written.job_set);
    // No pass comes to forget what has been shown.
    if (ours) caught_up(key, clock_.now());
    return ours;
}

// A pass has ended; without a report it is not known what it has done.
void Worker::settle_heard(const api::ObjectKey& key, const PassReport* report) {
    const Heard heard = std::move(heard_.extract(key).mapped());
    const auto is_told = [&](const std::string& latest, std::string Written::*own) {
        return latest.empty() || (report && report->settled && latest == report->written.*own);
    };
    if (heard.of_others || !is_told(heard.latest.train_job, &Written::train_job) ||
        !is_told(heard.latest.job_set, &Written::job_set))
        queue_.add(key, clock_.now());
}

net::Task<> Worker::run() {
    std::exception_ptr end;
    try {
        co_await start_passes();
    } catch (...) {
        end = std::current_exception();
    }
    // What ended us must not end the wait for those that we end.
    co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
    cutting_ = true;
    co_await running_.join();
    std::rethrow_exception(end);
}

net::Task<> Worker::start_passes() {
    for (;;) {
        if (fault_) std::rethrow_exception(fault_);
        if (may_start()) start_due_passes();
        co_await wait_for_work();
    }
}

net::Task<> Worker::wait_for_work() {
    const auto next = queue_.next_wakeup();
    if (!next || stopping_) {
        co_await wakeup_.wait();
    } else {
        const kube::SteadyTime until = may_start() ? *next : clock_.now() + look_again_after;
        co_await (wakeup_.wait() || clock_.sleep_until(until));
    }
}

net::Task<std::size_t> Worker::drain(std::chrono::milliseconds patience) {
    stopping_ = true;
    const kube::SteadyTime until = clock_.now() + patience;
    while (!running_.empty() && clock_.now() < until && allowed_())
        co_await (pass_ended_.wait() || clock_.sleep_until(std::min(until, clock_.now() + look_again_after)));
    const std::size_t cut = queue_.running();
    cutting_ = true;
    co_await running_.join();
    co_return cut;
}

void Worker::start_due_passes() {
    const kube::SteadyTime now = clock_.now();
    while (const auto key = queue_.next(now)) {
        // Other namespaces do not wait for one whose lists are late, or are refused.
        if (!caches_.synced(key->ns)) {
            queue_.postpone(*key, now + look_again_after);
            continue;
        }
        if (!caught_up(*key, now)) {
            queue_.postpone(*key, now + hold_back_step);
            metrics_.count_held_back();
            continue;
        }
        ++passes_started_;
        heard_[*key] = {};
        running_.start(run_pass(*key), [this](const std::exception_ptr& thrown) {
            if (thrown) fault_ = thrown;
            wakeup_.notify();
            pass_ended_.notify();
        });
    }
}

// Leaves the queue in order whatever happens; if not even that works, it throws.
net::Task<> Worker::run_pass(api::ObjectKey key) {
    const std::string uid = uid_of(key);
    std::string bug;
    try {
        const kube::SteadyTime started = clock_.now();
        const lifecycle::Episode episode = episode_of(key, uid);
        const std::size_t allowed = allowed_without_grant(key) + granted(key);
        const PassReport report = co_await pass_.run(key, episode, allowed);
        settle_heard(key, &report);
        if (report.wants_more) {
            allow_more(key, report);
            co_return;
        }
        metrics_.count(report, clock_.now() - started);
        finish(key, uid, report);
        co_return;
    } catch (const std::exception& exception) {
        bug = exception.what();
    } catch (...) {
        bug = "unknown exception";
    }
    if (!cutting_) {
        // A bug of ours must not end the process, nor keep other jobs waiting.
        metrics_.count_exception();
        log_.error("pass failed with an exception; it will be retried",
                   {{"trainjob", key}, {"uid", uid}, {"error", bug}});
    }
    if (heard_.contains(key)) settle_heard(key, nullptr);
    troubles_.try_emplace(key).first->second.uid = uid;
    const kube::SteadyTime now = clock_.now();
    const auto wait = queue_.failed(key, now);
    // finish() had come as far as giving the key back, perhaps without its next pass.
    if (wait == wait.zero()) queue_.add_after(key, now + kube::WorkQueue::first_backoff);
}

// By the caches, as the pass begins; "" if there is none (any more).
std::string Worker::uid_of(const api::ObjectKey& key) const {
    const auto* entry = caches_.train_jobs().find(key);
    return entry ? std::string(entry->object.uid()) : std::string();
}

lifecycle::Episode Worker::episode_of(const api::ObjectKey& key, const std::string& uid) {
    const auto known = troubles_.find(key);
    if (known == troubles_.end()) return {};
    if (known->second.uid == uid) return known->second.episode;
    troubles_.erase(known);
    queue_.forgive(key);
    return {};
}

void Worker::finish(const api::ObjectKey& key, const std::string& uid, const PassReport& report) {
    const kube::SteadyTime now = clock_.now();
    if (report.gone) {
        queue_.done(key, now);
        pending_.erase(key);
        troubles_.erase(key);
        grants_.erase(key);
        if (caches_.train_jobs().find(key)) queue_.add_after(key, now + until_cache_agrees);
        return;
    }
    if (report.weight <= allowed_without_grant(key)) grants_.erase(key);
    note_written(key, report, now);
    // They may have been shown already, and then nothing comes that asks.
    if (report.settled) caught_up(key, now);
    if (report.trouble)
        log_.debug("pass failed", {{"trainjob", key}, {"uid", uid}, {"error", *report.trouble}});
    if (report.episode == lifecycle::Episode())
        troubles_.erase(key);
    else
        troubles_[key] = {uid, report.episode};
    // Policy has said when to look again, backoff included. Only a server that asked for quiet is not to be
    // disturbed by events either.
    if (report.trouble && report.trouble->retry_after)
        queue_.failed(key, now, report.trouble->retry_after);
    else
        queue_.done(key, now);
    if (report.requeue_after) queue_.add_after(key, now + *report.requeue_after);
}

void Worker::note_written(const api::ObjectKey& key, const PassReport& report, kube::SteadyTime now) {
    if (report.written.train_job.empty() && report.written.job_set.empty()) return;
    pending_[key] = {.written = report.written,
                     .settled = report.settled,
                     .train_job_lists = caches_.train_jobs().lists(key.ns),
                     .job_set_lists = caches_.job_sets().lists(key.ns),
                     .until = now + longest_hold_back};
}

// What it has read was more than it was charged for: it begins anew when there is room for a dearer one.
void Worker::allow_more(const api::ObjectKey& key, const PassReport& report) {
    const kube::SteadyTime now = clock_.now();
    std::size_t& grant = grants_[key];
    grant = grant == 0 ? first_grant : std::min(grant * growth_of_grants, MeteredReads::most);
    note_written(key, report, now);
    queue_.done(key, now);
    queue_.add_after(key, now);
}

// Whether the caches show what our last pass over this job wrote. If not, its decisions would be about the
// past.
bool Worker::caught_up(const api::ObjectKey& key, kube::SteadyTime now) {
    const auto at = pending_.find(key);
    if (at == pending_.end()) return true;
    const auto seen = [&](auto& store, const std::string& version, std::uint32_t lists) {
        return version.empty() || store.has_seen(key.ns, version) || store.lists(key.ns) != lists;
    };
    const Pending& pending = at->second;
    const bool caught_up = seen(caches_.train_jobs(), pending.written.train_job, pending.train_job_lists) &&
                           seen(caches_.job_sets(), pending.written.job_set, pending.job_set_lists);
    if (!caught_up && now < pending.until) return false;
    pending_.erase(at);
    return true;
}

}  // namespace reconciler
