#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/failure_policy.hpp"
#include "api/job_set.hpp"
#include "lifecycle/decision.hpp"

namespace lifecycle {

/// The Pod that failed first, with what a failure policy asks of it.
struct FailedPod {
    struct Exit {
        std::string container = {};
        std::int64_t code = 0;
        std::string reason = {};
    };

    api::Failure failure = {};
    std::vector<Exit> exits = {};  ///< of containers that have ended, init containers included
    std::vector<api::FailureRule::PodCondition> conditions = {};
    std::string of_node = {};  ///< the Pod's own `status.reason`, which its node sets
    bool has_container_status = false;
    bool is_undecided = false;  ///< a Pod of another node failed about then, and of the like
};

/// The failed Pods of one JobSet. Its end leaves them, until it is deleted: those of a Job that failed stay
/// with it, while JobSet deletes the Jobs that were still active, with what their Pods knew.
class FailedPods {
public:
    explicit FailedPods(const api::JobSet& job_set) : job_set_uid_(job_set.meta.uid) {}

    /// `pods`: with metadata, `spec.nodeName` and status. Those that no Job of the JobSet can have made do
    /// not count, nor those that failed because they were told to end.
    void add(const std::vector<api::Json>& pods);

    /// Returns the Pod that failed first; nullopt without any. Others fail because one did, a second later or
    /// so; and times are whole seconds of different nodes' clocks. So within two seconds of the first end a
    /// cause of the node (eviction, admission) goes before a program that lacked memory, this before one that
    /// was killed, and this before one that ended by itself.
    std::optional<FailedPod> first() const;

private:
    // In the order of what is more likely to be the cause of the others.
    enum class Kind : std::uint8_t { node, memory, signal, exit };
    struct Seen {
        Kind kind = Kind::exit;
        FailedPod pod = {};
    };

    static Seen see(const api::Json& pod);

    std::string job_set_uid_;
    std::vector<Seen> seen_ = {};
};

/// Returns whether the failed Pods are to be looked at: the JobSet has failed, and the decision ends the job
/// or its attempt.
bool wants_failed_pods(const Decision& decision);

/// Returns whether the failure policy that the job began with is to be read: the decision ends an attempt.
bool wants_failure_policy(const Decision& decision);

/// How long an end waits for failed Pods while the API server fails. What they say decides whether a job
/// restarts, and is lost with them. But a job must not stay unfinished for it.
inline constexpr std::chrono::minutes failed_pods_wait{1};

/// Returns whether the end waits for another try to read them.
bool waits_for_failed_pods(const api::Error& unread, const RetryState& retry_state, api::Time now);

}  // namespace lifecycle
