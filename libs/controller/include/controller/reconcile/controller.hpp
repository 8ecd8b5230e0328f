#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <unordered_map>
#include <unordered_set>

#include "controller/reconcile/metrics.hpp"
#include "controller/reconcile/reconciler.hpp"
#include "kube/manager/work_queue.hpp"
#include "net/process/task_group.hpp"

namespace controller {

/// Runs passes: many jobs at a time, each job one at a time. The only place that turns errors into waiting.
/// Thread rule: everything happens on the executor's one thread.
class Controller {
public:
    struct Limits {
        int concurrency = 64;
    };
    /// May passes run now? Asked before each.
    using Allowed = std::function<bool()>;

    Controller(boost::asio::any_io_executor executor, kube::Clock& clock, Cache& cache, Reconciler& pass,
               net::Metrics& metrics, net::Log& log, Allowed allowed, Limits limits);

    /// Something happened to this TrainJob: a pass, unless it is what a pass has just done.
    void enqueue(const api::ObjectKey& train_job, const Change& change = {});
    /// Frees the memory of passes that ended a while ago.
    void forget_old() { queue_.forget_old(clock_.now()); }
    /// allowed() may have changed.
    void notify() { wakeup_.notify(); }

    /// Starts what is due, until it is cancelled; passes that run then are cut, so that none outlives it.
    /// Throws what not even the end of a pass could handle: which jobs are being worked on is unknown then.
    net::Task<> run();
    /// Starts no further pass; returns when the running ones have ended. Those that have not after
    /// `patience`, or when passes are not allowed any more, are cut: every write of a pass may be its last.
    /// Returns how many. To be called once.
    net::Task<std::size_t> drain(std::chrono::milliseconds patience);
    /// How many have been started so far.
    std::uint64_t passes() const { return reconciles_started_; }
    std::size_t reconciles_running() const { return running_.size(); }
    /// How many TrainJobs have ended and wait for their TTL.
    std::size_t expiring() const { return expiring_.size(); }
    /// What is due has to wait for the end of a pass.
    bool is_full() const { return queue_.is_full(); }

private:
    /// Writes of a pass that the caches have not shown yet.
    struct Expectations {
        WrittenVersions written = {};
        bool settled = false;
        std::uint32_t train_job_lists = 0;
        std::uint32_t job_set_lists = 0;
        kube::SteadyTime until = {};  // then the pass runs anyway
    };

    /// What happened to a TrainJob during a pass over it. What of that is the pass's own work is known only
    /// at its end.
    struct ConcurrentChanges {
        bool of_others = false;
        WrittenVersions latest = {};  // of its own objects
    };

    /// What went wrong lately with a TrainJob; another one of that name starts afresh.
    struct RetryEntry {
        std::string uid = {};
        lifecycle::RetryState retry_state = {};
    };

    bool may_start() const { return !stopping_ && allowed_() && cache_.synced_somewhere(); }
    net::Task<> start_reconciles();
    bool start_due_reconciles();
    net::Task<> wait_for_work();
    net::Task<> reconcile_one(api::ObjectKey key);
    std::string uid_of(const api::ObjectKey& key) const;
    lifecycle::RetryState episode_of(const api::ObjectKey& key, const std::string& uid);
    void forget(const api::ObjectKey& key);
    bool is_own_write(const api::ObjectKey& key, const Change& change);
    void settle_concurrent_changes(const api::ObjectKey& key, const ReconcileResult* report);
    bool expectations_met(const api::ObjectKey& key, kube::SteadyTime now);
    void finish(const api::ObjectKey& key, const std::string& uid, const ReconcileResult& report);
    void allow_more(const api::ObjectKey& key, const ReconcileResult& report);
    void note_written(const api::ObjectKey& key, const ReconcileResult& report, kube::SteadyTime now);
    std::size_t allowed_without_grant(const api::ObjectKey& key) const;
    std::size_t granted(const api::ObjectKey& key) const;

    kube::Clock& clock_;
    Cache& cache_;
    Reconciler& reconciler_;
    net::Log& log_;
    Allowed allowed_;
    kube::WorkQueue queue_;
    net::Wakeup wakeup_;
    net::Wakeup reconcile_ended_;
    net::TaskGroup running_;
    std::uint64_t reconciles_started_ = 0;
    std::optional<kube::SteadyTime> users_at_;  // when users of changed runtimes are to be enqueued
    bool stopping_ = false;
    bool cutting_ = false;  // what passes throw now is how they are cut
    std::exception_ptr fault_;
    std::unordered_map<api::ObjectKey, Expectations> expectations_;
    std::unordered_map<api::ObjectKey, ConcurrentChanges> concurrent_changes_;  // of all passes that run
    std::unordered_map<api::ObjectKey, RetryEntry> retries_;
    std::unordered_map<api::ObjectKey, std::size_t> grants_;  // of those whose passes read more than others
    std::unordered_set<api::ObjectKey> expiring_;
    ReconcileMetrics metrics_;
};

}  // namespace controller
