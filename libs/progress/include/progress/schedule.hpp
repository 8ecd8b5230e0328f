#pragma once
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/time.hpp"
#include "kube/client/clock.hpp"
#include "kube/manager/fair_queue.hpp"
#include "progress/report.hpp"
#include "progress/stored_status.hpp"

namespace progress {

/// One moment by both clocks.
struct Moment {
    kube::SteadyTime steady = {};
    api::Time wall = {};
};

Moment moment_of(const kube::Clock& clock);

struct ScheduleLimits {
    std::chrono::milliseconds interval{5'000};  ///< between two writes of one job
    // Of each of these, one namespace gets half at most.
    double writes_per_second = 200;
    double bytes_per_second = 512 * 1024;  ///< of all written TrainJobs: etcd keeps each revision for minutes
    std::size_t jobs = 10'000;
    std::size_t writes_at_once = 64;
    /// Limit of all pending reports together that have more than `small_report` bytes.
    std::size_t large_reports = 32 * 1024 * 1024;

    static constexpr std::size_t small_report = 4 * 1024;
};

/// Decides which report of which job is written when: at most one write of a job at a time, and one per
/// interval. An urgent report takes the job's next turn in advance, so it comes at once, but there are no
/// more writes for it. Beyond the budgets intervals grow: namespaces take turns, weighted by the bytes of
/// their writes, and the jobs of one by due time. Also decides about late reports and failed writes. Without
/// I/O: the caller sends the writes and passes the answers on. Thread rule: one thread.
class Schedule {
public:
    explicit Schedule(ScheduleLimits limits);
    ~Schedule();
    Schedule(const Schedule&) = delete;
    Schedule& operator=(const Schedule&) = delete;

    /// Makes room for one more job by removing one without a pending write that has not reported for a while.
    /// Returns false if there is none, or if the namespace has its share of jobs.
    bool has_room(const api::ObjectKey& job, Moment now);
    bool knows(const api::ObjectKey& job) const { return jobs_.contains(job); }
    /// Takes a job that was just read. Forgets the state of another TrainJob of that name.
    void update(const api::ObjectKey& job, StoredStatus stored, Moment now);
    void forget(const api::ObjectKey& job);

    struct Arrival {
        Report report = {};  ///< report_errors() has found none
        api::Time pod_created = {};
        bool is_first_of_pod = false;
    };
    enum class Reply {
        accepted,  ///< answer now: accepted
        late,      ///< answer now: accepted, but a newer report is stored or pending
        wait,      ///< wait for settled() of `sequence`, or of a later one
        failing,   ///< pending, but writes of this job fail
        no_room    ///< not accepted
    };
    struct Submitted {
        Reply reply = Reply::accepted;
        std::uint64_t sequence = 0;  ///< grows with each report
    };
    /// Takes a report of a known job.
    Submitted submit(const api::ObjectKey& job, Arrival arrival, Moment now);

    struct Write {
        api::ObjectKey job = {};
        std::uint64_t sequence = 0;
        kube::Request request = {};
    };
    /// Returns a write to send now; the caller reports its result. nullopt if none is due.
    std::optional<Write> next(Moment now);
    /// Returns when next() may have one; SteadyTime::max(): not before another call of a member.
    kube::SteadyTime due() const;

    /// The outcome of a report in flight.
    enum class Outcome {
        stored,
        late,         ///< a newer report was stored meanwhile
        forbidden,    ///< given up, as is `invalid`
        invalid,      ///< given up; the API server's message has the reason
        conflict,     ///< conflicts with other writers; repeated with the next interval
        unavailable,  ///< repeated
        not_found,    ///< the TrainJob does not exist any more, and the job is forgotten
        replaced,     ///< there is another TrainJob of that name, and the job is forgotten
        retried,      ///< not final: next() returns it once more
        changed       ///< not final: read the TrainJob, and call read_again()
    };
    /// The write of that report was stored. This and the next two functions ignore a report that is not in
    /// flight.
    Outcome written(const api::ObjectKey& job, std::uint64_t sequence, StoredStatus stored, Moment now);
    Outcome failed(const api::ObjectKey& job, std::uint64_t sequence, const api::Error& error, Moment now);
    /// Compares the report with the stored one again.
    Outcome read_again(const api::ObjectKey& job, std::uint64_t sequence,
                       const api::Result<StoredStatus>& stored, Moment now);

    /// Returns whether a write with that report, or a later one, was sent and is not answered yet.
    bool is_sent(const api::ObjectKey& job, std::uint64_t sequence) const;

    /// Returns whether the last write of the job failed.
    bool is_failing(const api::ObjectKey& job) const;

    /// Returns whether the writes of the job are refused because of the job itself: those of another one have
    /// succeeded meanwhile.
    bool fails_alone(const api::ObjectKey& job) const;

    /// Called at the shutdown: everything pending is due, and the budget is multiplied by `factor`.
    void start_drain(double factor, Moment now);

    // For metrics.
    std::size_t jobs() const { return jobs_.size(); }
    std::size_t pending() const { return queued_ + sent_; }
    /// Returns how long the oldest pending report has waited, but for jobs whose own writes the API server
    /// refuses again and again: that says nothing about the reports of others.
    std::chrono::milliseconds longest_wait(Moment now) const;
    /// Returns the interval, as extended by the budgets.
    std::chrono::milliseconds interval(Moment now) const;
    /// The API server does not support lastProgressTime.
    bool leaves_out_progress_time() const { return without_progress_time_; }

    static constexpr std::chrono::seconds late_for{60};
    static constexpr std::chrono::seconds healthy_for{60};
    static constexpr std::chrono::seconds longest_backoff{30};
    static constexpr std::chrono::seconds longest_pause{60};
    static constexpr std::chrono::minutes idle_for{10};
    static constexpr int most_attempts = 3;
    /// After so many refused writes in a row, reports are written without metrics, and the job itself may be
    /// the cause.
    static constexpr int own_failures = 3;

private:
    struct Pending {
        std::uint64_t sequence = 0;
        std::string trainer_status = {};  // JSON, without lastProgressTime
        std::uint64_t progress = 0;
        std::optional<api::Time> updated = {};
        api::Time arrived = {};
        kube::SteadyTime since = {};  // arrival of the oldest report in it
        bool is_complete = false;
    };
    struct Job;
    // The time when the next write is within a budget. It is charged afterwards, so that any size is
    // possible.
    struct Budget {
        double per_second = 0;
        kube::SteadyTime free_at = {};
        void charge(double cost, kube::SteadyTime now);
    };
    // The jobs of a namespace. There is one as long as a job of it is known.
    struct Line;

    Job* find(const api::ObjectKey& key) const;
    bool fails_alone(const Job& job) const;
    Job* find_sent(const api::ObjectKey& key, std::uint64_t sequence) const;
    void touch(Job& job, kube::SteadyTime now);
    void erase(Job& job);
    void drop_unused(kube::SteadyTime now);
    static bool is_idle(const Job& job);
    void put_in_queue(Job& job, kube::SteadyTime due);
    void take_from_queue(Job& job);
    void plan(Line& line);
    void unplan(Line& line);
    Job* first_due(kube::SteadyTime now);
    static bool may_hurry(const Job& job, std::chrono::milliseconds interval, kube::SteadyTime now);
    void end_sent(Job& job);
    bool keep(Job& job, Pending pending);
    void discard(std::optional<Pending>& pending, Line& line);
    void settle(Job& job, kube::SteadyTime now);
    bool is_healthy(const Job& job, bool is_in_line, kube::SteadyTime now) const;
    void retry_later(Job& job, kube::SteadyTime due);
    Outcome give_up(Job& job, Outcome outcome, kube::SteadyTime now);
    Outcome back_off(Job& job, kube::SteadyTime now);
    static void rebase(Job& job, StoredStatus stored);
    api::Json status_to_write(const Job& job, const Pending& pending, api::Time now) const;

    ScheduleLimits limits_;
    std::unordered_map<api::ObjectKey, std::unique_ptr<Job>> jobs_;
    std::list<Job*> by_use_ = {};                                   // the least recently used one first
    std::unordered_map<std::string, std::unique_ptr<Line>> lines_;  // by namespace
    // Lines with a job that has a pending report and no write in flight, by the time of their next turn;
    // those whose time has come compete in `ready_`.
    std::set<std::pair<kube::SteadyTime, Line*>> waiting_ = {};
    kube::FairQueue ready_ = {};
    std::size_t queued_ = 0;
    std::size_t sent_ = 0;
    std::size_t large_bytes_ = 0;
    std::uint64_t sequence_ = 0;
    Budget writes_ = {};
    Budget bytes_ = {};
    kube::SteadyTime paused_until_ = {};
    kube::SteadyTime stored_at_ = {};  // time of the last successful write of any job
    bool without_progress_time_ = false;
};

}  // namespace progress
