#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/job_set.hpp"
#include "api/resource.hpp"
#include "api/time.hpp"
#include "api/train_job.hpp"

namespace lifecycle {

/// A cause that keeps a TrainJob with a JobSet from going on (stall.hpp).
struct Stall {
    std::string_view reason = {};          ///< of the condition
    api::Time since = {};                  ///< the cause has been present from then on
    std::optional<api::Time> looked = {};  ///< when the text of the condition was last determined
    std::optional<api::Time> warned = {};  ///< when a Warning event was last sent about it

    bool operator==(const Stall&) const = default;
};

/// What a look at the Service with the name of a JobSet's headless Service has found (service.hpp).
enum class ServiceLook : std::uint8_t {
    unread,  ///< nothing: a request has failed
    absent,
    usable,  ///< it is the JobSet's, or selects its Pods
    taken    ///< it belongs to somebody else
};

/// The looks at the Service of one JobSet.
struct ServiceWatch {
    api::Time job_set_creation = {};
    std::optional<api::Time> looked = {};
    ServiceLook found = ServiceLook::unread;
    std::optional<Stall> stall = {};  ///< while a Service of another owner stands in the way

    bool operator==(const ServiceWatch&) const = default;
};

/// Consecutive failed reconciles of one TrainJob, each after the backoff of the one before; one that an event
/// causes earlier does not count. The controller keeps it with the key of the job and passes it to the next
/// reconcile. Losing it costs a quicker retry, a repeated event and a later condition.
struct RetryState {
    int failures = 0;
    std::optional<api::Time> errors_since = {};  ///< since when errors occur that reject no object
    /// Since when such errors occur that a condition reports: no conflicts, stale credentials, ending
    /// namespaces.
    std::optional<api::Time> obstructed_since = {};
    std::optional<api::Time> warned = {};       ///< when a Warning event was last sent about them
    std::optional<api::Time> stated = {};       ///< when a condition has last taken their text
    std::optional<api::Time> waits_until = {};  ///< the end of the backoff after the last failure
    /// When a Warning event has last said that a deletion is blocked.
    std::optional<api::Time> deletion_reported = {};
    /// When the current reconcile began, if that is known: a slow failure has lasted since then.
    std::optional<api::Time> began = {};
    std::optional<Stall> stall = {};
    std::optional<ServiceWatch> service = {};
    bool is_at_risk = false;        ///< an event has said that it will not finish before its deadline
    bool invalid_reported = false;  ///< an event has said that its progress deadline has errors
    bool kept_reported = false;     ///< an event has said why its JobSet stays as it was built
    bool queue_reported = false;    ///< an event has said that Kueue decides about its JobSet
    bool clock_reported = false;    ///< an event has said that a limit waits for a certain clock

    bool operator==(const RetryState&) const = default;
};

/// Which decisions use reports of progress.
enum class ProgressWatch {
    off,
    reports,   ///< a Warning about TrainJobs that will not finish before their active deadline
    deadlines  ///< that Warning, and progress deadlines
};

/// The Lease of the server of reports. Without a Lease both are empty.
struct Availability {
    std::optional<api::Time> since = {};    ///< since when reports are accepted without interruption
    std::optional<api::Time> renewed = {};  ///< when the server last confirmed that

    bool operator==(const Availability&) const = default;
};

/// The Jobs of a suspended JobSet that are not at rest (stopping.hpp).
struct Stopping {
    std::int64_t jobs = 0;
    std::int64_t pods = 0;   ///< of these Jobs, active or terminating; may not be counted yet
    std::string first = {};  ///< "Job default/job-node-0"; empty if there is none

    bool operator==(const Stopping&) const = default;
};

/// Everything that the decisions about one TrainJob depend on.
struct Observed {
    std::optional<api::TrainJob> job = {};    ///< empty: there is none (any more)
    std::optional<api::JobSet> job_set = {};  ///< the one of that namespace and name, of any owner
    std::optional<std::int64_t> ttl = {};     ///< ttl_policy(); needed only if ttl_matters()
    /// The run policy of the live runtime. Empty: the runtime does not exist, or is not known.
    std::optional<api::RunPolicy> live_policy = {};
    api::TtlAppliesTo ttl_applies_to = {};  ///< of the live runtime
    std::string queue_of_runtime = {};      ///< api::queue_of_job_sets() of the live runtime
    /// The run policy of the snapshot, where wants_snapshot(); a policy without members if there is no
    /// usable snapshot. Empty: not known.
    std::optional<api::RunPolicy> snapshot_policy = {};
    /// The digest of the runtime with that policy; empty if there is no usable snapshot.
    std::string snapshot_digest = {};
    /// The JobSet was read live and belongs to an earlier TrainJob of this name.
    bool is_leftover = false;
    /// The kinds of which the caches have an object of this name that is made for a run
    /// (runtime::OwnedFor::run), of any owner.
    std::vector<api::Resource> objects_of_run = {};
    /// These, and the kinds of objects that stay as long as the runtime has a policy
    /// (runtime::OwnedFor::policy).
    std::vector<api::Resource> objects_of_policies = {};
    RetryState retry_state = {};
    /// `job` has ended, or another controller manages it, and it lacks a part of its status: read it live
    /// before anything is written.
    bool is_abridged = false;
    /// first_resume() of the TrainJob, where may_have_been_resumed() and it was read live.
    std::optional<api::Time> first_resume = {};
    ProgressWatch progress_watch = ProgressWatch::off;
    /// The Lease as this reconcile has read it, where wants_availability(). Empty: not read.
    std::optional<Availability> availability = {};
    /// The Jobs as a look for a resume has found them. Empty: not read.
    std::optional<Stopping> stopping = {};
    std::optional<api::DonePods> done = {};  ///< of these Jobs
    bool is_live = false;        ///< TrainJob and JobSet were read from the API server in this reconcile
    bool job_is_answer = false;  ///< `job` is the API server's answer to a write of this reconcile
    /// The time is not known well enough for what cannot be undone: no deadline and no TTL ends anything.
    bool clock_is_uncertain = false;
};

/// Returns the JobSet if it belongs to the TrainJob, else nullptr: a JobSet of another owner, or one that
/// lost its owner reference, counts as absent.
const api::JobSet* own_job_set(const Observed& observed);

/// Returns whether a JobSet with the name of the TrainJob does not belong to it.
bool has_foreign_job_set(const Observed& observed);

/// Returns whether the status shows a JobSet of an earlier reconcile: it says what the job began with,
/// `Created` is True or `jobsStatus` is not empty.
bool had_job_set(const api::TrainJob& job);

/// Returns since when the JobSet may run: since it was made, or since the TrainJob was resumed.
api::Time start_of_run(const Observed& observed);

/// Returns since when all Pods of the JobSet have been started, by the status. Empty: they have not all been
/// since start_of_run(); what the status says of earlier ones does not count.
std::optional<api::Time> all_started_since(const Observed& observed);

/// Returns whether the JobSet was built for another `spec.trainer.numNodes` than the TrainJob has. False if
/// that number is not noted.
bool has_former_size(const Observed& observed);

/// Returns whether a JobSet with the label of this queue is in it by that label. The JobSet of a TrainJob
/// that is in a queue follows its TrainJob.
bool is_in_own_queue(const api::TrainJob& job, std::string_view queue_of_job_set);

/// Returns whether Kueue decides about `spec.suspend` of the JobSet: it is_in_own_queue(), and the
/// `spec.suspend` of the TrainJob has been written to it once. A suspended JobSet of a former size is written
/// all the same.
bool is_left_to_queue(const Observed& observed);

/// Returns whether the running JobSet may have been built before a correction or resize of its TrainJob, by a
/// delayed request: the status shows no JobSet yet, and either one was attempted or the spec has changed.
/// Until that is known, the status must not take the counts of the JobSet.
bool may_be_outdated(const Observed& observed);

}  // namespace lifecycle
