#pragma once
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"
#include "net/process/log.hpp"
#include "net/process/task_group.hpp"
#include "progress/metrics.hpp"
#include "progress/schedule.hpp"

namespace progress {

/// Sends the writes of a schedule. All arguments must outlive it. Thread rule: the one thread of `executor`.
class StatusWriter {
public:
    StatusWriter(boost::asio::any_io_executor executor, kube::ApiServer& server, kube::Clock& clock,
                 Schedule& schedule, Metrics& metrics, net::Log& log);
    ~StatusWriter();

    /// Ends only by cancellation.
    net::Task<> run();
    /// Called when the schedule may have an earlier due time.
    void notify();

    struct Result {
        Schedule::Outcome outcome = Schedule::Outcome::stored;
        std::string message = {};  ///< the API server's, of an `invalid` report
    };
    /// Returns the outcome of the report, or of a later one of the job; nullopt if it is not known after
    /// `longest_wait`.
    net::Task<std::optional<Result>> wait(api::ObjectKey job, std::uint64_t sequence);
    static constexpr std::chrono::seconds longest_wait{4};

    /// Sends pending reports at `factor` times the budget, for `longest` at most, while run() runs. Returns
    /// the number of lost reports.
    net::Task<std::size_t> drain(double factor, std::chrono::milliseconds longest);
    /// Ends all requests. Call it after run() has ended.
    net::Task<> stop();

    /// Returns whether the last write succeeded, or the last that did not was a while ago: a job whose report
    /// was refused may not report again.
    bool writes_work() const { return !failed_at_ || clock_.now() > *failed_at_ + failure_counts_for; }

    static constexpr std::chrono::minutes failure_counts_for{1};

private:
    struct Waiter;
    using Waiters = std::list<std::shared_ptr<Waiter>>;

    net::Task<> send(Schedule::Write write);
    net::Async<StoredStatus> exchange(kube::Request request);
    void settle(const api::ObjectKey& job, std::uint64_t sequence, Result result);
    void note(const api::ObjectKey& job, const api::Error& error, Schedule::Outcome outcome);

    boost::asio::any_io_executor executor_;
    kube::ApiServer& server_;
    kube::Clock& clock_;
    Schedule& schedule_;
    Metrics& metrics_;
    net::Log& log_;
    net::TaskGroup sending_;
    net::Wakeup wakeup_;
    net::Wakeup settled_;
    kube::SteadyTime sleeps_until_ = kube::SteadyTime::min();  // min: it is awake
    std::unordered_map<api::ObjectKey, Waiters> waiters_ = {};
    std::optional<kube::SteadyTime> failed_at_ = {};
    bool works_logged_ = true;
    kube::SteadyTime log_after_ = kube::SteadyTime::min();
    bool noted_progress_time_ = false;
};

}  // namespace progress
