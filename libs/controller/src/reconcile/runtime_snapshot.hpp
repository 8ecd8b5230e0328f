#pragma once
#include <variant>

#include "controller/reconcile/needs.hpp"
#include "controller/reconcile/observe.hpp"
#include "kube/client/api_server.hpp"
#include "lifecycle/snapshot.hpp"

namespace controller {

/// The runtime that a TrainJob is built from, never nullptr, and what is to be done about its snapshot once
/// the build has succeeded.
struct ChosenRuntime {
    std::shared_ptr<const api::Json> runtime = {};
    std::string digest = {};  ///< of `runtime`
    lifecycle::SnapshotPlan plan = {};
    std::string snapshot_uid = {};  ///< of the ConfigMap that is there now
};

/// The snapshot of a TrainJob's runtime as it was read, and the plan that follows from it.
struct SnapshotView {
    lifecycle::Runtimes found = {};
    lifecycle::SnapshotPlan plan = {};
    api::Result<api::Json> runtime = api::Json();  ///< in the snapshot; why it has none
    std::string uid = {};                          ///< of the ConfigMap
    bool is_leftover = false;                      ///< it belongs to an earlier TrainJob of this name
};

/// Reads the snapshot. Fails if that fails, or if the plan depends on a live runtime that cannot be read.
kube::Task<std::variant<SnapshotView, lifecycle::ReadFailed>> look_at_snapshot(
    kube::ApiServer& server, const View& view, lifecycle::RuntimeSource source);

/// Chooses the runtime, by the snapshot where it matters. The failure is ReadFailed, BuildFailed or
/// ForeignObject.
kube::Task<std::variant<ChosenRuntime, StepFailure>> choose_runtime(kube::ApiServer& server, const View& view,
                                                                    lifecycle::RuntimeSource source);

/// Creates or replaces the snapshot as planned. Returns Done or the failure.
kube::Task<StepFailure> store_snapshot(kube::ApiServer& server, const View& view,
                                       const ChosenRuntime& chosen);

}  // namespace controller
