#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/job_set.hpp"
#include "api/json.hpp"
#include "api/time.hpp"
#include "api/train_job.hpp"
#include "explain/objects.hpp"
#include "explain/policy_refusals.hpp"
#include "explain/progress.hpp"
#include "job/brief.hpp"
#include "job/findings.hpp"
#include "job/job_state.hpp"
#include "lifecycle/state.hpp"
#include "text/terminal.hpp"

/// What `explain` says about a TrainJob, and its two writers.
namespace cli {

struct StatePart {
    lifecycle::State state = lifecycle::State::pending;
    JobState words = {};  ///< by the Pods themselves; of a transition, the state that it leaves
    std::string managed_by = {};
    std::vector<api::Condition> conditions = {};  ///< all, as stored
    std::optional<api::Condition> telling = {};   ///< the most relevant one
    std::vector<api::Failure> failures = {};      ///< the newest first
    std::optional<api::Time> deletion = {};
};

/// The lease of the reconcilers.
struct LeasePart {
    std::string name = {};  ///< NAMESPACE/NAME
    /// A sentence that no reconciler leads, and for how long. Empty if one does, or if no lease can be read:
    /// reconcilers may use another one, or none.
    std::string problem = {};
    ReadResult<bool> exists = {};
};

/// The queue of Kueue.
struct QueuePart {
    std::string name = {};  ///< empty: the TrainJob is in none, or has ended
    ReadResult<QueueState> state = {};
};

struct ProgressPart {
    api::Json metrics = {};                      ///< as reported; null: none
    std::optional<ProgressDeadline> start = {};  ///< until the first report
    std::optional<ProgressDeadline> deadline = {};
};

struct DeadlinePart {
    std::chrono::seconds limit = {};
    std::string source = {};            ///< as lifecycle::source_of(); empty: the TrainJob itself
    std::optional<api::Time> end = {};  ///< empty: the clock does not run
    bool is_since_resume = false;       ///< or else since the creation
    bool waits_in_queue = false;        ///< its JobSet does, in a queue of its own
};

struct TimeToLivePart {
    bool is_deleted_elsewhere = false;               ///< by MultiKueue
    bool is_unknown = false;                         ///< the runtime could not be read
    std::optional<std::chrono::seconds> limit = {};  ///< after the end; empty: none
    std::optional<std::chrono::seconds> left = {};   ///< of a TrainJob that has ended
};

struct RuntimePart {
    std::string name = {};  ///< "ClusterTrainingRuntime torch"
    ReadResult<bool> exists = {};
    bool has_snapshot = false;          ///< a usable one: the TrainJob runs by it
    std::string snapshot_problem = {};  ///< why the reconciler would not use it
    std::string snapshot_unread = {};
    std::vector<std::string> changes = {};  ///< since the snapshot: field_differences()
};

struct JobSetPart {
    std::optional<api::JobSet> object = {};  ///< of that name, with any owner; empty: there is none
    bool is_own = false;
    bool is_late = false;   ///< it completed after the deadline of the TrainJob
    std::string kept = {};  ///< why it stays as it was built, as long as the event exists
};

struct PodPart {
    std::string name = {};
    std::string phase = {};
    std::string node = {};     ///< empty: none yet
    std::string problem = {};  ///< problem_of()
    std::size_t rank = 0;      ///< its position among all, by Job and number
};

/// What is said about one TrainJob. Times that pass are points in time; sentences are those that both writers
/// use.
struct Explanation {
    api::Time now = {};
    Brief brief = {};  ///< as in lists, but with state and ready nodes by the Pods themselves
    StatePart state = {};
    std::vector<PolicyRefusal> refusals = {};
    LeasePart lease = {};
    QueuePart queue = {};
    ProgressPart progress = {};
    std::optional<DeadlinePart> deadline = {};
    TimeToLivePart ttl = {};
    RuntimePart runtime = {};
    ReadResult<JobSetPart> job_set = {};
    ReadResult<std::vector<PodPart>> pods = {};      ///< as listed
    ReadResult<std::vector<EventLine>> events = {};  ///< the latest last
};

Explanation explanation_of(const RelatedObjects& seen, api::Time now);

/// Returns one screen for users: state and reason, the Pods that failed first, deadline and time to live,
/// runtime and its changes, JobSet, Pods with their problems, latest events; on a terminal with a bar of the
/// progress. Of many Pods, events, changes and metrics it shows the most relevant ones.
Text draw_text(const Explanation& explanation, const Terminal& terminal);

/// Returns the same for programs, with the fields of docs/kubectl-trainjob.md: those of a row of `list`, plus
/// conditions, failures, Pods, events and differences of the runtime.
api::Json document_of(const Explanation& explanation);

}  // namespace cli
