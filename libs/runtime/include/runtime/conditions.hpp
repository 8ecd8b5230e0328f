#pragma once
#include <vector>

#include "api/condition.hpp"
#include "api/job_set.hpp"
#include "api/train_job.hpp"
#include "runtime/build.hpp"

/// Conditions of a TrainJob that plugins add, besides those of its lifecycle.
namespace runtime {

/// The inputs of a plugin's conditions.
struct ConditionsContext {
    const api::TrainJob& job;
    const api::JobSet* job_set = nullptr;    ///< nullptr: there is none
    const std::vector<api::Json>& observed;  ///< the objects of condition_needs() that exist
};

/// Returns whether any plugin has conditions.
bool has_conditions(const Pipeline& pipeline = default_pipeline());

/// Returns the objects that conditions_of_plugins() needs, by name. No built-in plugin needs any.
std::vector<Need> condition_needs(const api::TrainJob& job, const Pipeline& pipeline = default_pipeline());

/// Returns type, status, reason and message of each. lifecycle::merge_plugin_conditions() ignores its own
/// types.
std::vector<api::Condition> conditions_of_plugins(const ConditionsContext& context,
                                                  const Pipeline& pipeline = default_pipeline());

}  // namespace runtime
