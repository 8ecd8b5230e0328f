#pragma once
#include <optional>

#include "controller/cache/cache.hpp"
#include "controller/reconcile/coalesced_reads.hpp"
#include "kube/client/api_server.hpp"
#include "lifecycle/decision.hpp"
#include "lifecycle/observed.hpp"
#include "lifecycle/outcome.hpp"

namespace controller {

/// The view of one TrainJob in a reconcile.
struct View {
    lifecycle::Observed observed = {};
    std::shared_ptr<const api::Json> runtime = {};  ///< the live one; nullptr if there is none
    /// Why the runtime is not known. It stops what needs the runtime, and nothing else.
    std::optional<lifecycle::ReadFailed> runtime_unread = {};
    lifecycle::Live live = lifecycle::Live::nothing;  ///< which objects this reconcile has read live
    /// The JobSet of `observed` as a whole, where it was read live for a change; else nullptr.
    std::shared_ptr<const api::Json> job_set = {};
};

/// Returns the resource of the kind of the TrainJob's runtime.
kube::Resource runtime_resource(const api::TrainJob& job);

/// Returns the request for the Jobs with the label of a JobSet's name.
kube::Request list_jobs(const api::ObjectKey& job_set);

/// Returns the Jobs of a JobSet. What is too large to be read must not keep a job suspended for ever: it
/// counts as absent. References must live until the coroutine ends.
kube::Async<std::vector<api::Json>> read_jobs(kube::ApiServer& server, const api::Json& job_set);

/// Returns the view of the caches, without the TTL.
View cached_view(const Cache& cache, const api::ObjectKey& key);

/// Fills in the run policy that the job began with where its status does not show it, and the TTL where it
/// matters. That may take a read of the snapshot. Returns the failure of that read.
kube::Task<std::optional<lifecycle::ReadFailed>> look_up_policy(kube::ApiServer& server, View& view);

/// Returns the view of the API server: TrainJob, runtime and, if `what` includes it, the JobSet as they are
/// now, without the TTL. They are read at the same time, so none is older than the call; `in_order`, the
/// JobSet after the TrainJob. A TrainJob that changes while it is seen to have lost its JobSet is a conflict.
/// A runtime that cannot be read is no failure: see View::runtime_unread. `seen`: the TrainJob as it was seen
/// before. `now` is for lifecycle::first_resume(). View::job_set, Observed::stopping and
/// Observed::done: as `reason` says.
kube::Async<View> live_view(kube::ApiServer& server, CoalescedReads& reads, const api::TrainJob& seen,
                            lifecycle::Live what, api::Time now, lifecycle::LookFor reason);

/// Returns the digest of a runtime, as `status.runtimeDigest` has it.
std::string runtime_digest(const api::Json& runtime);

/// Returns the key of the ConfigMap with the snapshot of a TrainJob's runtime.
api::ObjectKey snapshot_key(const api::ObjectKey& train_job);

}  // namespace controller
