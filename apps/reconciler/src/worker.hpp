#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <unordered_map>

#include "kube/work_queue.hpp"
#include "net/task_group.hpp"
#include "pass.hpp"
#include "pass_metrics.hpp"

namespace reconciler {

/// Runs passes: many jobs at a time, each job one at a time. The only place that turns errors into waiting.
/// Thread rule: everything happens on the executor's one thread.
class Worker {
public:
    struct Limits {
        int concurrency = 64;
    };
    /// May passes run now? Asked before each.
    using Allowed = std::function<bool()>;

    Worker(boost::asio::any_io_executor executor, kube::Clock& clock, Caches& caches, Pass& pass,
           net::Metrics& metrics, net::Log& log, Allowed allowed, Limits limits);

    /// Something happened to this TrainJob: a pass, unless it is what a pass has just done.
    void wake(const api::ObjectKey& train_job, const News& news = {});
    /// Frees the memory of passes that ended a while ago.
    void forget_old() { queue_.forget_old(clock_.now()); }
    /// allowed() may have changed.
    void look_again() { wakeup_.notify(); }

    /// Starts what is due, until it is cancelled; passes that run then are cut, so that none outlives it.
    /// Throws what not even the end of a pass could handle: which jobs are being worked on is unknown then.
    net::Task<> run();
    /// Starts no further pass; returns when the running ones have ended. Those that have not after
    /// `patience`, or when passes are not allowed any more, are cut: every write of a pass may be its last.
    /// Returns how many. To be called once.
    net::Task<std::size_t> drain(std::chrono::milliseconds patience);
    /// How many have been started so far.
    std::uint64_t passes() const { return passes_started_; }
    std::size_t passes_running() const { return running_.size(); }
    /// What is due has to wait for the end of a pass.
    bool is_full() const { return queue_.is_full(); }

private:
    /// Writes of a pass that the caches have not shown yet.
    struct Pending {
        Written written = {};
        bool settled = false;
        std::uint32_t train_job_lists = 0;
        std::uint32_t job_set_lists = 0;
        kube::SteadyTime until = {};  // then the pass runs anyway
    };

    /// What happened to a TrainJob during a pass over it. What of that is the pass's own work is known only
    /// at its end.
    struct Heard {
        bool of_others = false;
        Written latest = {};  // of its own objects
    };

    /// What went wrong lately with a TrainJob; another one of that name starts afresh.
    struct Trouble {
        std::string uid = {};
        lifecycle::Episode episode = {};
    };

    bool may_start() const { return !stopping_ && allowed_() && caches_.synced_somewhere(); }
    net::Task<> start_passes();
    void start_due_passes();
    net::Task<> wait_for_work();
    net::Task<> run_pass(api::ObjectKey key);
    std::string uid_of(const api::ObjectKey& key) const;
    lifecycle::Episode episode_of(const api::ObjectKey& key, const std::string& uid);
    void forget(const api::ObjectKey& key);
    bool is_work_of_ours(const api::ObjectKey& key, const News& news);
    void settle_heard(const api::ObjectKey& key, const PassReport* report);
    bool caught_up(const api::ObjectKey& key, kube::SteadyTime now);
    void finish(const api::ObjectKey& key, const std::string& uid, const PassReport& report);
    void allow_more(const api::ObjectKey& key, const PassReport& report);
    void note_written(const api::ObjectKey& key, const PassReport& report, kube::SteadyTime now);
    std::size_t allowed_without_grant(const api::ObjectKey& key) const;
    std::size_t granted(const api::ObjectKey& key) const;

    kube::Clock& clock_;
    Caches& caches_;
    Pass& pass_;
    net::Log& log_;
    Allowed allowed_;
    kube::WorkQueue queue_;
    net::Wakeup wakeup_;
    net::Wakeup pass_ended_;
    net::TaskGroup running_;
    std::uint64_t passes_started_ = 0;
    bool stopping_ = false;
    bool cutting_ = false;  // what passes throw now is how they are cut
    std::exception_ptr fault_;
    std::unordered_map<api::ObjectKey, Pending> pending_;
    std::unordered_map<api::ObjectKey, Heard> heard_;  // of all passes that run
    std::unordered_map<api::ObjectKey, Trouble> troubles_;
    std::unordered_map<api::ObjectKey, std::size_t> grants_;  // of those whose passes read more than others
    PassMetrics metrics_;
};

}  // namespace reconciler
