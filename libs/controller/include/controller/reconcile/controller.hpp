#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <unordered_map>

#include "controller/reconcile/metrics.hpp"
#include "controller/reconcile/reconciler.hpp"
#include "kube/manager/work_queue.hpp"
#include "net/process/task_group.hpp"

namespace controller {

/// Reconciles TrainJobs: several at a time, one reconcile per TrainJob. The only place that turns errors into
/// waits.
/// Thread rule: everything happens on the executor's one thread.
class Controller {
public:
    struct Limits {
        int concurrency = 64;
    };
    /// Returns whether a reconcile may start now. Called before each.
    using Allowed = std::function<bool()>;

    Controller(boost::asio::any_io_executor executor, kube::Clock& clock, Cache& cache,
               Reconciler& reconciler, net::Metrics& metrics, net::Log& log, Allowed allowed, Limits limits);

    /// Enqueues a TrainJob after a change. A change that the last reconcile made itself enqueues nothing.
    void enqueue(const api::ObjectKey& train_job, const Change& change = {});
    /// Makes the controller call allowed() again.
    void notify() { wakeup_.notify(); }

    /// Starts reconciles that are due, until it is cancelled; then cuts those that run, so that none outlives
    /// it. Throws an exception that the end of a reconcile threw: the queue is of no use then.
    net::Task<> run();
    /// Starts no further reconcile, and waits for those that run. Cuts those that run for longer than
    /// `patience`, or when they are not allowed any more: any write of a reconcile may be its last. Returns
    /// the number of cut ones. Call it once.
    net::Task<std::size_t> drain(std::chrono::milliseconds patience);
    /// Returns how many have been started so far.
    std::uint64_t reconciles_started() const { return reconciles_started_; }
    /// Returns how many TrainJobs have ended and wait for their TTL.
    std::size_t expiring() const { return expiring_; }

private:
    /// Writes of a reconcile that the caches have not shown yet.
    struct Expectations {
        WrittenVersions written = {};
        bool own_writes_need_no_reconcile = false;
        std::uint32_t train_job_lists = 0;
        std::uint32_t job_set_lists = 0;
        kube::SteadyTime until = {};  // then the reconcile runs anyway
    };

    /// The changes of a TrainJob during its reconcile. Only its end shows which of them are its own writes.
    struct ConcurrentChanges {
        bool of_others = false;
        WrittenVersions latest = {};  // of the TrainJob and its JobSet
    };

    /// What is remembered of a TrainJob between its reconciles. There is a record only where one of these is
    /// needed.
    struct JobRecord {
        /// Of the TrainJob that the retry state is about; empty: none. A new one of that name starts without.
        std::string uid = {};
        lifecycle::RetryState retry_state = {};
        std::optional<Expectations> expectations = {};
        std::optional<ConcurrentChanges> concurrent_changes = {};  // while a reconcile runs
        std::size_t grant = 0;                                     // its reconciles read more than usual
        bool expires = false;                                      // it has ended and waits for its TTL
    };

    bool may_start() const { return !stopping_ && allowed_() && cache_.synced_somewhere(); }
    net::Task<> start_reconciles();
    bool start_due_reconciles();
    net::Task<> wait_for_work();
    net::Task<> reconcile_one(api::ObjectKey key);
    std::string uid_of(const api::ObjectKey& key) const;
    lifecycle::RetryState retry_state_of(const api::ObjectKey& key, const std::string& uid);
    JobRecord* record_of(const api::ObjectKey& key);
    void forget(const api::ObjectKey& key);
    void forget_if_empty(const api::ObjectKey& key);
    void set_expires(JobRecord& record, bool expires);
    bool is_own_write(const api::ObjectKey& key, const Change& change);
    void settle_concurrent_changes(const api::ObjectKey& key, const ReconcileResult* report);
    bool expectations_met(const api::ObjectKey& key, kube::SteadyTime now);
    void finish(const api::ObjectKey& key, const std::string& uid, const ReconcileResult& report);
    void report_lease(const lifecycle::Measurements& made);
    std::chrono::microseconds time_to_requeue(const ReconcileResult& report) const;
    void allow_more(const api::ObjectKey& key, const ReconcileResult& report);
    void note_written(JobRecord& record, const api::ObjectKey& key, const ReconcileResult& report,
                      kube::SteadyTime now);
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
    bool lease_is_ahead_ = false;               // by the last look
    bool stopping_ = false;
    bool cutting_ = false;  // reconciles are being cancelled, so their exceptions are no errors
    std::exception_ptr fault_;
    std::unordered_map<api::ObjectKey, JobRecord> records_;
    std::size_t expiring_ = 0;  // records of jobs that expire
    ReconcileMetrics metrics_;
};

}  // namespace controller
