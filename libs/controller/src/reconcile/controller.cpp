#include "controller/reconcile/controller.hpp"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>

#include "lifecycle/requeue.hpp"
#include "net/process/turns.hpp"
#include "reconcile/metered_reads.hpp"

namespace controller {

using namespace boost::asio::experimental::awaitable_operators;

namespace {

// Every cause that changes whether reconciles may start notifies this class, except a lease that lapses and
// returns, so that is polled.
constexpr std::chrono::seconds poll_interval{1};
// A watch that is this far behind is being re-listed or broken. Writes have preconditions, so a reconcile on
// its view does no harm.
constexpr std::chrono::seconds longest_deferral{15};
constexpr std::chrono::milliseconds deferral_step{250};
// An API server that was restored from a backup may not have a TrainJob that the cache still has. Then no
// event would start another reconcile.
constexpr std::chrono::seconds until_cache_agrees{5};
// The bytes of a TrainJob, its runtime and its JobSet that cost as much as a usual reconcile: about what is
// read, built and written within a millisecond.
constexpr std::size_t bytes_of_a_cost = 8 * 1024;
// The weight that a reconcile may read without a charge (MeteredReads): the objects that its cost counts,
// with as many values as usual ones have, and a little more. Snapshots, keys and PodGroups mostly fit in.
constexpr std::size_t weight_of_bytes = 2;
constexpr std::size_t free_weight = 16 * 1024;
// The first grant for a reconcile that needs more. It begins anew, and counts with its grant.
constexpr std::size_t first_grant = 64 * 1024;
constexpr std::size_t growth_of_grants = 4;
// The margin after the second in which a time limit ends: timers and the wall clock are two clocks.
constexpr std::chrono::milliseconds into_the_second{2};
// The most reconciles that start in a row. A reconcile that waits for no answer ends within the turn that
// starts it.
constexpr int starts_in_a_row = 16;

std::optional<kube::SteadyTime> earliest(std::optional<kube::SteadyTime> one,
                                         std::optional<kube::SteadyTime> other) {
    if (!one || !other) return one ? one : other;
    return std::min(*one, *other);
}

}  // namespace

Controller::Controller(boost::asio::any_io_executor executor, kube::Clock& clock, Cache& cache,
                       Reconciler& reconciler, net::Metrics& metrics, net::Log& log, Allowed allowed,
                       Limits limits)
    : clock_(clock),
      cache_(cache),
      reconciler_(reconciler),
      log_(log),
      allowed_(std::move(allowed)),
      queue_(static_cast<std::size_t>(limits.concurrency),
             [this](const api::ObjectKey& key) {
                 const std::size_t bytes = cache_.bytes_of(key) + granted(key);
                 return static_cast<std::int64_t>(1 + bytes / bytes_of_a_cost);
             }),
      wakeup_(executor),
      reconcile_ended_(executor),
      running_(executor),
      metrics_(metrics) {
    metrics.read_gauge("signalbox_queue_depth",
                       "TrainJobs that are due and wait for a reconcile; 0 where none may run.",
                       [this] { return allowed_() ? static_cast<double>(queue_.ready()) : 0; });
    metrics.read_gauge("signalbox_train_jobs_expiring",
                       "TrainJobs that have ended and wait for their time to live.",
                       [this] { return static_cast<double>(expiring_); });
    metrics.read_gauge("signalbox_queue_timers", "TrainJobs that are scheduled for a certain time.",
                       [this] { return static_cast<double>(queue_.waiting()); });
    metrics.read_gauge("signalbox_reconciles_running", "Reconciles that are running.",
                       [this] { return static_cast<double>(running_.size()); });
    cache.on_runtime([this] {
        users_at_ = kube::SteadyTime();
        wakeup_.notify();
    });
}

void Controller::enqueue(const api::ObjectKey& train_job, const Change& change) {
    JobRecord* const record = record_of(train_job);
    if (record && record->concurrent_changes) {
        ConcurrentChanges& changes = *record->concurrent_changes;
        switch (change.of) {
            case Change::Of::train_job: changes.latest.train_job = change.resource_version; break;
            case Change::Of::job_set: changes.latest.job_set = change.resource_version; break;
            case Change::Of::anything_else: changes.of_others = true; break;
        }
        return;
    }
    // A TrainJob that is gone needs no reconcile. Where none runs, its key would stay in the queue for good.
    if (!cache_.train_jobs().find(train_job)) {
        queue_.forget(train_job);
        return forget(train_job);
    }
    if (is_own_write(train_job, change)) return;
    queue_.add(train_job, clock_.now());
    wakeup_.notify();
}

Controller::JobRecord* Controller::record_of(const api::ObjectKey& key) {
    const auto at = records_.find(key);
    return at == records_.end() ? nullptr : &at->second;
}

void Controller::forget(const api::ObjectKey& key) {
    if (JobRecord* const record = record_of(key)) set_expires(*record, false);
    records_.erase(key);
}

void Controller::forget_if_empty(const api::ObjectKey& key) {
    const JobRecord* const record = record_of(key);
    if (record && record->uid.empty() && !record->expectations && !record->concurrent_changes &&
        record->grant == 0 && !record->expires)
        records_.erase(key);
}

void Controller::set_expires(JobRecord& record, bool expires) {
    expiring_ += static_cast<std::size_t>(expires) - static_cast<std::size_t>(record.expires);
    record.expires = expires;
}

std::size_t Controller::granted(const api::ObjectKey& key) const {
    const auto at = records_.find(key);
    return at == records_.end() ? 0 : at->second.grant;
}

std::size_t Controller::allowed_without_grant(const api::ObjectKey& key) const {
    return free_weight + weight_of_bytes * cache_.bytes_of(key);
}

// Returns whether a reconcile has written this version and its writes need no further one. Then no other
// writer has changed the object between its decision and this version, because writes carry what they were
// decided on.
bool Controller::is_own_write(const api::ObjectKey& key, const Change& change) {
    const JobRecord* const record = record_of(key);
    if (!record || !record->expectations || !record->expectations->own_writes_need_no_reconcile) return false;
    const WrittenVersions& written = record->expectations->written;
    // The cache has yet to show the version after it.
    if (change.of == Change::Of::train_job && change.resource_version == written.train_job_before)
        return true;
    const bool is_own =
        (change.of == Change::Of::train_job && change.resource_version == written.train_job) ||
        (change.of == Change::Of::job_set && change.resource_version == written.job_set);
    // No other reconcile comes that would drop the expectations.
    if (is_own) expectations_met(key, clock_.now());
    return is_own;
}

// Enqueues the TrainJob again if it changed during its reconcile, except by own writes. `report`: nullptr if
// it is not known what the reconcile has done.
void Controller::settle_concurrent_changes(const api::ObjectKey& key, const ReconcileResult* report) {
    const ConcurrentChanges changes = *std::exchange(records_[key].concurrent_changes, std::nullopt);
    const auto is_own_version = [&](const std::string& latest, std::string WrittenVersions::*own) {
        return latest.empty() ||
               (report && report->own_writes_need_no_reconcile && latest == report->written.*own);
    };
    const bool before_last = report && report->own_writes_need_no_reconcile &&
                             !changes.latest.train_job.empty() &&
                             changes.latest.train_job == report->written.train_job_before;
    if (changes.of_others ||
        !(before_last || is_own_version(changes.latest.train_job, &WrittenVersions::train_job)) ||
        !is_own_version(changes.latest.job_set, &WrittenVersions::job_set))
        queue_.add(key, clock_.now());
}

net::Task<> Controller::run() {
    std::exception_ptr end;
    try {
        co_await start_reconciles();
    } catch (...) {
        end = std::current_exception();
    }
    // The cancellation of run() must not end the wait for the reconciles that are cut.
    co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
    cutting_ = true;
    co_await running_.join();
    std::rethrow_exception(end);
}

net::Task<> Controller::start_reconciles() {
    for (;;) {
        if (fault_) std::rethrow_exception(fault_);
        if (may_start() && start_due_reconciles())
            co_await net::next_turn();
        else
            co_await wait_for_work();
    }
}

net::Task<> Controller::wait_for_work() {
    const auto next = earliest(queue_.next_wakeup(), users_at_);
    if (!next || stopping_) {
        co_await wakeup_.wait();
    } else {
        const kube::SteadyTime until = may_start() ? *next : clock_.now() + poll_interval;
        co_await (wakeup_.wait() || clock_.sleep_until(until));
    }
}

net::Task<std::size_t> Controller::drain(std::chrono::milliseconds patience) {
    stopping_ = true;
    const kube::SteadyTime until = clock_.now() + patience;
    while (!running_.empty() && clock_.now() < until && allowed_())
        co_await (reconcile_ended_.wait() ||
                  clock_.sleep_until(std::min(until, clock_.now() + poll_interval)));
    const std::size_t cut = queue_.running();
    cutting_ = true;
    co_await running_.join();
    co_return cut;
}

// Starts reconciles that are due. Returns whether more are due, after a turn of all other work.
bool Controller::start_due_reconciles() {
    const kube::SteadyTime now = clock_.now();
    users_at_ = cache_.enqueue_users(now);
    for (int started = 0; started < starts_in_a_row; ++started) {
        const auto key = queue_.next(now);
        if (!key) return users_at_ && *users_at_ <= now;
        // Other namespaces do not wait for a namespace whose lists are late or refused.
        if (!cache_.synced(key->ns)) {
            queue_.postpone(*key, now + poll_interval);
            continue;
        }
        if (!expectations_met(*key, now)) {
            queue_.postpone(*key, now + deferral_step);
            metrics_.count_deferred();
            continue;
        }
        ++reconciles_started_;
        records_[*key].concurrent_changes = ConcurrentChanges();
        running_.start(reconcile_one(*key), [this](const std::exception_ptr& thrown) {
            if (thrown) fault_ = thrown;
            wakeup_.notify();
            reconcile_ended_.notify();
        });
    }
    return true;
}

// Reconciles a TrainJob, and leaves the queue in order whatever happens. Throws if even that fails.
net::Task<> Controller::reconcile_one(api::ObjectKey key) {
    const std::string uid = uid_of(key);
    std::string bug;
    try {
        const kube::SteadyTime started = clock_.now();
        const lifecycle::RetryState retry_state = retry_state_of(key, uid);
        const std::size_t allowed = allowed_without_grant(key) + granted(key);
        const ReconcileResult report = co_await reconciler_.reconcile(key, retry_state, allowed);
        settle_concurrent_changes(key, &report);
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
        // A bug must end neither the process nor the reconciles of other TrainJobs.
        metrics_.count_exception();
        log_.error("reconcile failed with an exception; it will be retried",
                   {{"trainjob", key}, {"uid", uid}, {"error", bug}});
    }
    if (const JobRecord* const record = record_of(key); record && record->concurrent_changes)
        settle_concurrent_changes(key, nullptr);
    records_[key].uid = uid;
    const kube::SteadyTime now = clock_.now();
    const auto wait = queue_.failed(key, now);
    // finish() may have given the key back, perhaps without its next reconcile.
    if (wait == wait.zero()) queue_.add_after(key, now + kube::WorkQueue::first_backoff);
}

// Returns the UID of the TrainJob in the caches; "" if there is none (any more).
std::string Controller::uid_of(const api::ObjectKey& key) const {
    const auto* entry = cache_.train_jobs().find(key);
    return entry ? std::string(entry->object.uid()) : std::string();
}

lifecycle::RetryState Controller::retry_state_of(const api::ObjectKey& key, const std::string& uid) {
    JobRecord* const record = record_of(key);
    if (!record || record->uid.empty()) return {};
    if (record->uid == uid) return record->retry_state;
    record->uid.clear();
    record->retry_state = {};
    queue_.forgive(key);
    return {};
}

// Logs that the Lease is ahead of this clock, and later that it is not any more.
void Controller::report_lease(const lifecycle::Measurements& made) {
    if (!made.lease_is_ahead || *made.lease_is_ahead == lease_is_ahead_) return;
    lease_is_ahead_ = *made.lease_is_ahead;
    if (lease_is_ahead_)
        log_.warn(
            "the Lease of the server of progress reports is more than a minute ahead of this clock: no "
            "progress deadline is decided");
    else
        log_.info("the Lease of the server of progress reports is not ahead of this clock any more");
}

void Controller::finish(const api::ObjectKey& key, const std::string& uid, const ReconcileResult& report) {
    const kube::SteadyTime now = clock_.now();
    report_lease(report.measurements);
    if (report.gone) {
        queue_.done(key, now);
        forget(key);
        if (cache_.train_jobs().find(key)) queue_.add_after(key, now + until_cache_agrees);
        return;
    }
    JobRecord& record = records_[key];
    set_expires(record, report.measurements.expires);
    if (report.weight <= allowed_without_grant(key)) record.grant = 0;
    record.uid = report.retry_state == lifecycle::RetryState() ? "" : uid;
    record.retry_state = report.retry_state;
    note_written(record, key, report, now);
    // The cache may have shown the writes already; then no change comes that would drop the expectations.
    if (report.own_writes_need_no_reconcile) expectations_met(key, now);
    forget_if_empty(key);
    if (report.error)
        log_.debug("reconcile failed", {{"trainjob", key}, {"uid", uid}, {"error", *report.error}});
    // The decision says when to requeue, backoff included. Only if a server has asked for a pause, events
    // must not start a reconcile either.
    if (report.error && report.error->retry_after)
        queue_.failed(key, now, report.error->retry_after);
    else
        queue_.done(key, now);
    if (report.requeue_after) queue_.add_after(key, now + time_to_requeue(report));
}

// Time limits end with a second of the wall clock, and the reconcile has computed as if that second had just
// begun. The part of it that has passed is not waited for again. So a reconcile that comes a moment too
// early, since the clock has become a little less exact, is a moment late and not a second. If the limit has
// passed by the clock, but not by the answers to the reconcile, one reconcile must not follow the other.
std::chrono::microseconds Controller::time_to_requeue(const ReconcileResult& report) const {
    using lifecycle::RequeueReason;
    const std::chrono::microseconds longest = *report.requeue_after;
    const auto reason = report.measurements.requeue;
    if (reason != RequeueReason::deadline && reason != RequeueReason::ttl &&
        reason != RequeueReason::progress)
        return longest;
    const std::chrono::microseconds left =
        report.concluded + *report.requeue_after + into_the_second - clock_.wall();
    return std::min<std::chrono::microseconds>(left.count() > 0 ? left : lifecycle::min_requeue, longest);
}

void Controller::note_written(JobRecord& record, const api::ObjectKey& key, const ReconcileResult& report,
                              kube::SteadyTime now) {
    if (report.written.train_job.empty() && report.written.job_set.empty()) return;
    record.expectations = {.written = report.written,
                           .own_writes_need_no_reconcile = report.own_writes_need_no_reconcile,
                           .train_job_lists = cache_.train_jobs().lists(key.ns),
                           .job_set_lists = cache_.job_sets().lists(key.ns),
                           .until = now + longest_deferral};
}

// The reconcile has read more than its charge: it begins anew, with a larger charge, when there is room.
void Controller::allow_more(const api::ObjectKey& key, const ReconcileResult& report) {
    const kube::SteadyTime now = clock_.now();
    JobRecord& record = records_[key];
    record.grant =
        record.grant == 0 ? first_grant : std::min(record.grant * growth_of_grants, MeteredReads::most);
    note_written(record, key, report, now);
    queue_.done(key, now);
    queue_.add_after(key, now);
}

// Returns whether the caches show the writes of the last reconcile of this TrainJob. Otherwise the next one
// would decide about the past.
bool Controller::expectations_met(const api::ObjectKey& key, kube::SteadyTime now) {
    JobRecord* const record = record_of(key);
    if (!record || !record->expectations) return true;
    const auto seen = [&](auto& store, const std::string& version, std::uint32_t lists) {
        return version.empty() || store.has_seen(key.ns, version) || store.lists(key.ns) != lists;
    };
    const Expectations& expectations = *record->expectations;
    const bool expectations_met =
        seen(cache_.train_jobs(), expectations.written.train_job, expectations.train_job_lists) &&
        seen(cache_.job_sets(), expectations.written.job_set, expectations.job_set_lists);
    if (!expectations_met && now < expectations.until) return false;
    record->expectations.reset();
    forget_if_empty(key);
    return true;
}

}  // namespace controller
