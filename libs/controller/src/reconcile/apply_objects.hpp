#pragma once
#include "controller/reconcile/needs.hpp"

namespace controller {

/// What objects are written for: it decides which of them.
enum class Beside {
    new_job_set,   ///< created or changed now: all of them
    own_job_set,   ///< applied by this controller earlier: none of those that are made once with it
    other_job_set  ///< applied by another controller, which may not have made those
};

/// What the Pods of that JobSet are made from.
enum class Template {
    ours,
    of_others  ///< of another controller, which has made what they mount: that is left as it is
};

/// Writes the objects before the JobSet, in their order, up to the first failure; those whose time it is.
/// What is as it should be is not written again. However late a request arrives, it changes nothing that has
/// come or changed since we looked. References must live until the coroutine ends.
kube::Task<StepFailure> apply_objects(kube::ApiServer& server, const runtime::Built& built,
                                      const NeededObjects& found, Beside beside, Template pods);

/// Those that are made once, and are not there: beside a JobSet whose Pods have mounted them, others would
/// keep the Pods that restart from those that do not.
std::vector<std::string> lost_objects(const runtime::Built& built, const NeededObjects& found);

}  // namespace controller
