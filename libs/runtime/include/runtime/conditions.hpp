#pragma once
#include <vector>

#include "api/condition.hpp"
#include "api/job_set.hpp"
#include "api/train_job.hpp"
#include "runtime/active_plugins.hpp"

/// Conditions of a TrainJob that plugins add, besides those of its lifecycle.
namespace runtime {

/// The inputs of a plugin's conditions.
struct ConditionsContext {
    const api::TrainJob& job;
    const api::JobSet* job_set = nullptr;  ///< the TrainJob's own; nullptr: there is none, or the job ends
    const api::Json& runtime;              ///< as it is now; null if it is not known
    const ActivePlugins& plugins;          ///< that are on for the runtime
};

/// Returns type, status, reason and message of each. One without a status is to be removed: the TrainJob has
/// it, and no plugin adds it any more. With a JobSet whose runtime is not known none is removed.
/// lifecycle::merge_plugin_conditions() ignores its own types. For the arguments see ConditionsContext.
std::vector<api::Condition> conditions_of_plugins(const api::TrainJob& job, const api::JobSet* job_set,
                                                  const api::Json& runtime,
                                                  const Pipeline& pipeline = default_pipeline());

}  // namespace runtime
