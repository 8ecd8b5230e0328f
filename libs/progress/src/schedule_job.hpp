#pragma once
#include "progress/schedule.hpp"

namespace progress {

struct Schedule::Line {
    api::ObjectKey key = {};  ///< the namespace alone
    std::set<std::pair<kube::SteadyTime, Job*>> queue = {};
    std::size_t jobs = 0;
    std::size_t sent = 0;
    std::size_t large_bytes = 0;
    Budget writes = {};
    Budget bytes = {};
    std::optional<kube::SteadyTime> waits_until = {};  ///< its place in `waiting_`
    std::optional<kube::FairQueue::Place> place = {};  ///< in `ready_`
};

/// A TrainJob that reports.
struct Schedule::Job {
    api::ObjectKey key = {};
    Line* line = nullptr;
    StoredStatus stored = {};
    // The state of the last accepted or stored report.
    std::uint64_t progress = 0;
    std::optional<api::Time> updated = {};
    bool is_complete = false;

    std::optional<api::Time> advanced = {};       ///< the latest progress, not stored yet
    std::optional<api::Time> advanced_sent = {};  ///< the same of the write in flight
    std::optional<Pending> pending = {};
    std::optional<Pending> sent = {};
    kube::SteadyTime due = {};  ///< its place in the queue, if it has one
    bool is_queued = false;
    bool is_urgent = false;            ///< the pending report does not wait for its turn
    kube::SteadyTime written_at = {};  ///< when the last write was sent
    kube::SteadyTime next_turn = {};   ///< of a report that is not urgent
    kube::SteadyTime good_at = {};     ///< when the last read or write succeeded
    kube::SteadyTime retry_at = {};    ///< when a failed write is repeated
    kube::SteadyTime used_at = {};
    int failures = 0;                      ///< in a row
    int attempts = 0;                      ///< conflicts of the report in flight
    bool is_failing = false;               ///< the last write failed
    kube::SteadyTime failing_since = {};   ///< the first failure since the last success
    bool is_refused = false;               ///< its writes get answers, but no success
    std::list<Job*>::iterator place = {};  ///< in `by_use_`
};

}  // namespace progress
