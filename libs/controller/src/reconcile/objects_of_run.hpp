#pragma once
#include "controller/reconcile/needs.hpp"
#include "controller/reconcile/observe.hpp"

namespace controller {

/// Creates an object that is made for a run, such as a PodGroup. Unavailable if the cluster lacks its kind or
/// would not keep it as a whole: then there is none, and no watch has seen one. `is_trial`: a dry run alone.
/// References must live until the coroutine ends.
kube::Task<StepFailure> create_for_run(kube::ApiServer& server, const runtime::BuiltObject& built,
                                       const api::Resource& kind, bool is_trial);

/// Deletes an object of a run that is over. `live` was read after `view`: the removal fails as a conflict if
/// TrainJob or JobSet have changed since, as another reconciler may have begun the next run with this very
/// object. What is being deleted is left alone. References must live until the coroutine ends.
kube::Task<StepFailure> remove_of_former_run(kube::ApiServer& server, const View& view,
                                             const api::Resource& kind, const api::Json& live);

}  // namespace controller
