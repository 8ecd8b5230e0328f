#pragma once
#include <optional>

#include "controller/cache/cache.hpp"
#include "controller/reconcile/runtime_reads.hpp"
#include "kube/client/api_server.hpp"
#include "lifecycle/decision.hpp"
#include "lifecycle/observed.hpp"
#include "lifecycle/outcome.hpp"

namespace controller {

/// What a reconcile knows of one TrainJob.
struct View {
    lifecycle::Observed observed = {};
    std::shared_ptr<const api::Json> runtime = {};  ///< the live one; nullptr if there is none
    /// Why that is not known. It stops what needs the runtime, and nothing else.
    std::optional<lifecycle::ReadFailed> runtime_unread = {};
    lifecycle::Live live = lifecycle::Live::nothing;  ///< read from the API server in this reconcile
    /// The JobSet of `observed` as a whole, where it was read live for a change; else nullptr.
    std::shared_ptr<const api::Json> job_set = {};
};

/// Of which kind the runtime of a TrainJob is.
kube::Resource runtime_resource(const api::TrainJob& job);

/// The caches' view, without the TTL.
View cached_view(const Cache& cache, const api::ObjectKey& key);

/// Fills in what the job began with where its status does not tell, and the TTL where it matters. That may
/// take a read of the snapshot. Returns why it could not be had.
kube::Task<std::optional<lifecycle::ReadFailed>> look_up_policy(kube::ApiServer& server, View& view);

/// The API server's view: TrainJob, runtime and, if `what` has it, the JobSet as they are now, without the
/// TTL. A runtime that cannot be read is no failure: see View::runtime_unread. `now` is what
/// lifecycle::first_resume() wants. `for_change`: fills View::job_set.
kube::Async<View> live_view(kube::ApiServer& server, RuntimeReads& runtimes, api::ObjectKey key,
                            lifecycle::Live what, api::Time now, bool for_change);

/// The newest Warning event about the start of the JobSet of a view, or of a Job of the replicated job that
/// lacks its Pods; "" if there is none. Restarts of the JobSet are no reason. Where events cannot be read, it
/// says so.
kube::Async<std::string> start_events(kube::ApiServer& server, const View& view, api::Time now);

/// The ConfigMap with the snapshot of a TrainJob's runtime.
api::ObjectKey snapshot_key(const api::ObjectKey& train_job);

}  // namespace controller
