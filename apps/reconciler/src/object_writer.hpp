#pragma once
#include "needed_objects.hpp"

namespace reconciler {

/// Writes the objects before the JobSet, in their order, up to the first failure; those whose time it is.
/// What is as it should be is not written again. However late a request arrives, it changes nothing that has
/// come or changed since we looked. References must live until the coroutine ends.
kube::Task<Failure> apply_objects(kube::ApiServer& server, const runtime::Built& built,
                                  const NeededObjects& found, bool with_job_set);

/// Those that are made once, and are not there: beside a JobSet whose Pods have mounted them, others would
/// keep the Pods that restart from those that do not.
std::vector<std::string> lost_objects(const runtime::Built& built, const NeededObjects& found);

}  // namespace reconciler
