#pragma once
#include <vector>

#include "api/condition.hpp"
#include "api/job_set.hpp"
#include "api/train_job.hpp"
#include "runtime/build.hpp"

/// Conditions of a TrainJob that plugins contribute, besides those of its life.
namespace runtime {

/// What a plugin's conditions follow from.
struct ConditionsContext {
    const api::TrainJob& job;
    const api::JobSet* job_set = nullptr;    ///< nullptr: there is none
    const std::vector<api::Json>& observed;  ///< those of condition_needs() that exist
};

/// Whether any plugin has conditions.
bool has_conditions(const Pipeline& pipeline = default_pipeline());

/// What conditions_of_plugins() must be shown if it exists, by name. No plugin asks for anything so far.
std::vector<Need> condition_needs(const api::TrainJob& job, const Pipeline& pipeline = default_pipeline());

/// Type, status, reason and message of each; lifecycle::merge_plugin_conditions() takes only types that are
/// not its own.
std::vector<api::Condition> conditions_of_plugins(const ConditionsContext& context,
                                                  const Pipeline& pipeline = default_pipeline());

}  // namespace runtime
