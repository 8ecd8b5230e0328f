#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/condition.hpp"
#include "api/failure.hpp"
#include "api/meta.hpp"
#include "api/progress.hpp"
#include "api/run_policy.hpp"
#include "api/time.hpp"

namespace api {

/// `spec.runtimeRef`, with the defaults of the CRD filled in.
struct RuntimeRef {
    std::string api_group = {};
    std::string kind = {};
    std::string name = {};

    bool operator==(const RuntimeRef&) const = default;
};

/// Returns whether the kind is one of the two runtime kinds.
bool is_supported(const RuntimeRef& ref);

/// One entry of `status.jobsStatus`: counts of child Jobs.
struct JobStatus {
    std::string name = {};
    std::int64_t ready = 0;
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::int64_t active = 0;
    std::int64_t suspended = 0;

    bool operator==(const JobStatus&) const = default;
};

bool any_active(const std::vector<JobStatus>& jobs);

/// How often a failure made all Jobs of a TrainJob start again: by all of its JobSets so far.
struct Restarts {
    std::int64_t all = 0;
    std::int64_t counted = 0;  ///< of these, those that count towards the maximum

    bool operator==(const Restarts&) const = default;
};

/// Reads the members `restarts` and `restartsCountTowardsMax` of a status. What is absent or negative is 0.
Restarts parse_restarts(const Json& status);

/// Reads and writes the value of restarts_before_annotation, "3,1". What cannot be read is no restart.
Restarts parse_restarts_before(std::string_view text);
std::string restarts_before_text(const Restarts& restarts);

/// Returns the sums, each at most the largest int32, which is what a status can hold.
Restarts operator+(const Restarts& left, const Restarts& right);

/// Where a TrainJob under a failure policy is between its attempts: members of its status.
struct Attempt {
    std::optional<Time> began = {};       ///< `attemptStartTime`: when all Pods of this attempt had started
    std::optional<Time> next = {};        ///< `nextAttemptTime`: the next attempt begins no sooner
    std::int64_t failures = 0;            ///< `consecutiveFailures`: attempts that did not last
    std::int64_t uncounted_failures = 0;  ///< `consecutiveUncounted`: those that did not count

    bool operator==(const Attempt&) const = default;
};

/// A TrainJob: the fields that decisions depend on as members, and the whole spec as a tree.
struct TrainJob {
    ObjectMeta meta = {};
    RuntimeRef runtime_ref = {};
    bool suspend = false;
    std::optional<std::int64_t> active_deadline_seconds = {};
    std::optional<std::int64_t> ttl_seconds_after_finished = {};
    std::string managed_by = {};
    std::string queue = {};           ///< the label kueue.x-k8s.io/queue-name
    bool is_multikueue_copy = false;  ///< the label kueue.x-k8s.io/multikueue-origin is set
    ProgressAnnotations progress_annotations = {};
    Json spec = {};  ///< all of `spec`, as stored
    std::vector<Condition> conditions = {};
    std::vector<JobStatus> jobs_status = {};
    std::optional<RunPolicy> run_policy = {};  ///< `status.runPolicy`
    /// `status.runtimeDigest`: of the runtime that the TrainJob began with. Empty: it has not begun, or its
    /// status was written by another controller or release.
    std::string runtime_digest = {};
    std::optional<Time> start_time = {};
    std::optional<Time> completion_time = {};
    Restarts restarts = {};  ///< `status.restarts` and `status.restartsCountTowardsMax`
    std::vector<Failure> failures = {};
    Attempt attempt = {};
    TrainerStatus trainer_status = {};
};

/// Reads a TrainJob of any shape. The schema of the API rejects invalid ones; older objects must not crash a
/// program.
TrainJob parse_train_job(const Json& object);

/// Reads in the same way, but takes the spec from the object and frees the rest.
TrainJob parse_train_job(Json&& object);

/// Reads `runtimeRef` of a TrainJob's spec, with the CRD's defaults.
RuntimeRef parse_runtime_ref(const Json& spec);

/// Reads `status.jobsStatus` of a TrainJob or `status.replicatedJobsStatus` of a JobSet, which have the same
/// six fields.
std::vector<JobStatus> parse_jobs_status(const Json& list);
Json to_json_tree(const std::vector<JobStatus>& jobs);

/// Returns whether `managedBy` leaves the TrainJob to this controller; an empty one does. To any other
/// TrainJob this controller writes nothing, except the deletion of one that MultiKueue dispatches, after its
/// TTL.
bool is_managed_here(const TrainJob& job);

/// Returns whether the TrainJob may still be corrected, by its stored status: its JobSet could not be
/// created, and never existed. The status of a TrainJob of another controller does not show that.
bool may_be_corrected(const TrainJob& stored);

/// What num_nodes() returns for a TrainJob that leaves the number of nodes to its runtime.
inline constexpr std::int64_t nodes_of_runtime = -1;

/// Returns `spec.trainer.numNodes`.
std::int64_t num_nodes(const TrainJob& job);

/// Returns the type of the terminal condition that is True, `Complete` or `Failed`; nullptr if the job has
/// not finished.
const Condition* terminal_condition(const TrainJob& job);

}  // namespace api
