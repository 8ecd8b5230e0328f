#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/time.hpp"
#include "api/train_job.hpp"
#include "job/job_state.hpp"
#include "text/duration.hpp"
#include "text/terminal.hpp"

namespace cli {

/// The result of a read: the object, or why it could not be read.
template <class T>
struct ReadResult {
    T found = {};  ///< null or empty: it does not exist
    std::string unread = {};

    bool is_unread() const { return !unread.empty(); }
};

/// The objects around one TrainJob, as the API server has them.
struct RelatedObjects {
    api::Json job = {};
    ReadResult<api::Json> runtime = {};   ///< the live one
    ReadResult<api::Json> snapshot = {};  ///< the ConfigMap
    ReadResult<api::Json> job_set = {};   ///< of that name, with any owner
    ReadResult<std::vector<api::Json>> pods = {};
    ReadResult<api::Json> workload = {};             ///< Kueue's; only of a TrainJob or JobSet in a queue
    ReadResult<std::vector<api::Json>> events = {};  ///< of the TrainJob and its objects, in any order
    api::ObjectKey lease_key = {};
    ReadResult<api::Json> lease = {};  ///< of the reconcilers
    api::ObjectKey progress_lease_key = {};
    /// Of the servers of progress; only of a TrainJob with a progress deadline.
    ReadResult<api::Json> progress_lease = {};
};

/// Returns the runtime in the snapshot; null if there is no snapshot. Fails if the reconciler would not use
/// it.
api::Result<api::Json> runtime_of_snapshot(const RelatedObjects& seen, const api::TrainJob& job);

/// Returns whether Pods run or have succeeded, by the Pods themselves: the status of a JobSet does not show
/// it.
PodsRun pods_run(const ReadResult<std::vector<api::Json>>& pods);

/// Returns one screen for users: state and reason, deadline and time to live, runtime and its changes,
/// JobSet, Pods with their problems, latest events; on a terminal with a bar of the progress.
Text explain(const RelatedObjects& seen, api::Time now, const Terminal& terminal);

/// Returns the content of explain() as a document for programs, with the fields of docs/kubectl-trainjob.md:
/// those of a row of `list`, plus conditions, Pods, events and differences of the runtime.
api::Json explain_document(const RelatedObjects& seen, api::Time now);

/// Returns a sentence that no reconciler works, and for how long. Empty if one does, or if no lease can be
/// read: reconcilers may use another one, or none.
std::string lease_problem(const RelatedObjects& seen, api::Time now);

}  // namespace cli
