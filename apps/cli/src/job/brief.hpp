#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/time.hpp"
#include "api/train_job.hpp"
#include "job/job_state.hpp"

/// What lists show of TrainJobs, and of the runtimes that they name.
namespace cli {

/// The values of a runtime for each of its TrainJobs.
struct RuntimeSummary {
    std::int64_t nodes = 1;  ///< if the TrainJob sets none
    api::RunPolicy policy = {};
    api::TtlAppliesTo ttl_applies_to = {};
    api::Json resources = {};  ///< of the container that trains
    std::string queue = {};    ///< in which its JobSets wait by themselves
};

/// The live runtimes, by namespace and name; cluster-scoped ones have no namespace.
using Runtimes = std::map<api::ObjectKey, RuntimeSummary>;

RuntimeSummary runtime_summary(const api::Json& runtime);

/// Returns the runtime of the TrainJob; nullptr if it is not among them.
const RuntimeSummary* find_runtime(const Runtimes& runtimes, const api::TrainJob& job);

/// The latest report of the training code (`status.trainerStatus`).
struct Progress {
    std::optional<std::int64_t> percent = {};
    std::optional<std::int64_t> remaining = {};  ///< seconds, counted from `reported`
    std::optional<api::Time> reported = {};
    std::optional<api::Time> advanced = {};  ///< when the last report of progress arrived
};

/// Reports that are older than this are stale.
inline constexpr std::chrono::minutes stale_report{15};

Progress progress_of(const api::Json& train_job);

/// Returns the remaining time of the training. Empty: not reported.
std::optional<std::chrono::seconds> remaining_time(const Progress& progress, api::Time now);

/// The training Pods of a TrainJob.
struct Nodes {
    std::int64_t wanted = 0;
    std::optional<std::int64_t> ready = {};  ///< empty: unknown
};

/// The part of one TrainJob that lists show, in about a kilobyte.
struct Brief {
    api::ObjectKey key = {};
    std::string uid = {};
    JobState state = {};
    bool ended = false;
    bool complete = false;
    bool suspend = false;      ///< `spec.suspend`
    std::string reason = {};   ///< of the most relevant condition
    std::string message = {};  ///< of the same condition, at most 500 bytes
    std::string failure = {};  ///< the Pod that failed first, if the message ends with it; as long
    api::Time created = {};
    std::optional<api::Time> end = {};
    std::optional<api::Time> deadline = {};      ///< of a job that has not ended
    std::optional<api::Time> expires = {};       ///< the time of its deletion
    std::optional<api::Time> next_attempt = {};  ///< between attempts: the earliest time of the next one
    Progress progress = {};
    Nodes nodes = {};
    std::int64_t gpus = 0;  ///< and other accelerators, of all nodes, without those of claims
    std::string queue = {};
    std::string runtime_kind = {};
    std::string runtime = {};
    JobStage stage = {};
    bool needs_pods = false;  ///< its status does not show what its Pods do
    /// Its status says that all nodes are ready: a program that fails again and again is so for a moment.
    bool seems_ready = false;
    /// Since when Pods may still end: at an end, a deletion, a suspension or resume, or after a failed
    /// attempt.
    std::optional<api::Time> stopped = {};
    /// Of one that is gone: since when another TrainJob has its name, with Pods of its own.
    std::optional<api::Time> replaced = {};
    PodsState pods = {};  ///< by its status, until set_pods()
};

Brief brief_of(api::Json train_job, const Runtimes& runtimes);

/// Sets the state and the number of ready nodes by the Pods.
void set_pods(Brief& brief, PodsState pods);

/// Sets what the scheduler says of a Pod that waits for a node; "" changes nothing.
void set_waiting(Brief& brief, const std::string& why);

/// Returns the fields that docs/kubectl-trainjob.md lists, with points in time rather than durations: it
/// stays equal as long as the TrainJob does.
api::Json list_row(const Brief& job);

/// Returns the most relevant condition for a TrainJob's state, and its time; nullptr if it has none. A
/// resumed job runs since its resume.
const api::Condition* telling_condition(const api::TrainJob& job);

/// Returns whether Pods run, by `status.jobsStatus` alone.
PodsState pods_by_status(const std::vector<api::JobStatus>& jobs);

}  // namespace cli
