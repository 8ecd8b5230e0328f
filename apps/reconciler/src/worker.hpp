#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <unordered_map>

#include "kube/work_queue.hpp"
#include "net/metrics.hpp"
#include "net/timer.hpp"
#include "pass.hpp"

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

    /// Something happened to this TrainJob.
    void wake(const api::ObjectKey& train_job);
    /// allowed() may have changed.
    void look_again() { wakeup_.notify(); }

    /// Ends after stop(), when the last pass has ended.
    net::Task<> run();
    /// Starts no further pass.
    void stop();

private:
    /// Writes of a pass that the caches have not shown yet.
    struct Pending {
        Written written = {};
        std::uint32_t train_job_lists = 0;
        std::uint32_t job_set_lists = 0;
        kube::SteadyTime until = {};  // then the pass runs anyway
    };

    void start_due_passes();
    net::Task<> run_pass(api::ObjectKey key);
    bool caught_up(const api::ObjectKey& key, kube::SteadyTime now);
    void finish(const api::ObjectKey& key, const PassReport& report);

    boost::asio::any_io_executor executor_;
    kube::Clock& clock_;
    Caches& caches_;
    Pass& pass_;
    net::Log& log_;
    Allowed allowed_;
    Limits limits_;
    kube::WorkQueue queue_;
    net::Wakeup wakeup_;
    bool stopping_ = false;
    std::unordered_map<api::ObjectKey, Pending> pending_;
    std::unordered_map<api::ObjectKey, lifecycle::Episode> episodes_;
    net::Counter passes_;
    net::Counter failures_;
    net::Counter exceptions_;
    net::Histogram durations_;
    net::Gauge depth_;
};

}  // namespace reconciler
