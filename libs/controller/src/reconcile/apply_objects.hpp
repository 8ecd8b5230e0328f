#pragma once
#include "controller/reconcile/needs.hpp"
#include "controller/reconcile/observe.hpp"

namespace controller {

/// The JobSet for which objects are written. It decides which objects those are.
enum class Beside {
    new_job_set,   ///< created or changed now: all of them
    own_job_set,   ///< applied by this controller earlier: no objects that are made once with it
    other_job_set  ///< applied by another controller, which may not have made objects that are made once
};

/// The controller that has built the Pod templates of that JobSet.
enum class Template {
    own,
    of_others  ///< another controller, which has made the mounted objects: they stay as they are
};

/// Writes the objects before the JobSet, in their order, up to the first failure, and only those that
/// `beside` and `pods` select. An object that is as it should be is not written again. A delayed request
/// changes nothing that has come or changed since the read. References must live until the coroutine ends.
kube::Task<StepFailure> apply_objects(kube::ApiServer& server, const View& view, const runtime::Built& built,
                                      const NeededObjects& found, Beside beside, Template pods);

/// Returns the objects that are made once and are gone. They are not made anew beside a JobSet whose Pods
/// have mounted them: with new ones, Pods that restart could not connect to those that do not.
std::vector<std::string> lost_objects(const runtime::Built& built, const NeededObjects& found);

}  // namespace controller
