#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/condition.hpp"
#include "api/json.hpp"
#include "api/meta.hpp"
#include "api/train_job.hpp"

namespace api {

/// The most names that finished_jobs_annotation may have.
inline constexpr std::size_t most_finished_jobs = 5;

/// By replicated job, the numbers of Pods that do not run again, of each Job that has such.
using DonePods = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

/// The fields of a JobSet that decisions depend on. The reconciler reads the others live when it needs them.
struct JobSet {
    ObjectMeta meta = {};
    bool suspend = false;
    bool applied_here = false;               ///< see is_applied_here()
    bool taken_over = false;                 ///< see is_taken_over()
    std::optional<Condition> finished = {};  ///< its Completed or Failed condition, once True
    /// Its condition Suspended, which JobSet's controller sets at the first suspension that it sees.
    std::optional<Condition> suspended = {};
    std::vector<JobStatus> replicated_jobs = {};
    /// num_nodes() of the TrainJob when it was built, by applied_hash_annotation. Empty: Kubeflow
    /// Trainer does not say that.
    std::optional<std::int64_t> built_for_nodes = {};
    /// The digest of the runtime that it was built from, by the same annotation. Empty: as above.
    std::string runtime_digest = {};
    /// runtime::inputs_note() when it was built, by the same annotation. Empty: as above.
    std::string built_from = {};
    Restarts restarts_before = {};  ///< of the TrainJob's earlier JobSets: restarts_before_annotation
    Restarts restarts = {};         ///< its own, and those before
    std::optional<std::int64_t> max_restarts = {};  ///< of its failure policy, for its own alone
    bool is_attempt = false;                        ///< attempt_annotation: Signalbox judges its failure
    std::vector<std::string> excluded_nodes = {};   ///< excluded_nodes_annotation
    std::vector<std::string> finished_jobs = {};    ///< finished_jobs_annotation
    std::string restart_message = {};               ///< why it started again the last time
    /// The first replicated job that may start now and lacks Jobs, or Pods of them, by these counts. If the
    /// JobSet is not suspended, a suspended Job has no Pods. Empty if there is none, or if
    /// `spec.replicatedJobs` was not parsed.
    std::string lacks_pods = {};
    /// Whether a replicated job lacks Jobs because it waits for others, by these counts. JobSet does not
    /// store that the others are ready or complete before it has created the Jobs.
    bool waits_for_others = false;
    bool all_started = false;  ///< all Pods of all Jobs are ready, or have ended, by these counts
    std::string service = {};  ///< job_set_names::service(), without which it has none
    std::string queue = {};    ///< its label kueue.x-k8s.io/queue-name
    std::optional<bool> written_suspend = {};  ///< written_suspend_annotation

    bool belongs_to(const TrainJob& job) const {
        return !meta.controller_uid.empty() && meta.controller_uid == job.meta.uid;
    }
    bool any_active() const { return api::any_active(replicated_jobs); }
};

/// Returns whether an object has api::applied_hash_annotation.
bool is_applied_here(const Json& object);

/// Returns whether another controller may have made the content of a JobSet's Pods: that annotation is
/// missing, or api::taken_over_annotation is set.
bool is_taken_over(const Json& job_set);

/// The parts of applied_hash_annotation, `<hash>.<template>.<source>.<nodes>.<runtime>.<inputs> <placement>`,
/// which runtime/applied_hash.hpp writes and explains. Objects that are no JobSet have the first one alone.
/// What is missing is empty. Users can edit all of them. Refers to the object.
struct AppliedNote {
    std::string_view hash = {};
    std::string_view fixed_part = {};
    std::string_view source = {};
    std::string_view nodes = {};
    std::string_view runtime = {};
    std::string_view inputs = {};
    std::string_view placement = {};

    bool operator==(const AppliedNote&) const = default;
};
AppliedNote applied_note(const Json& object);

/// Reads and writes that number in applied_hash_annotation of a JobSet: "3" or "-".
std::optional<std::int64_t> noted_nodes(const Json& job_set);
std::string nodes_note(const TrainJob& job);

/// Reads the inputs there. Empty if they are longer than any.
std::string noted_inputs(const Json& job_set);

/// Reads the digest of the runtime there. Empty if it is longer than any digest.
std::string noted_runtime(const Json& job_set);

JobSet parse_job_set(const Json& object);

/// Returns the queue of Kueue in which a runtime puts its JobSets by a label; empty: none.
std::string queue_of_job_sets(const Json& runtime);

}  // namespace api
