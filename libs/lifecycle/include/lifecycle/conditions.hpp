#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "api/condition.hpp"
#include "api/time.hpp"

namespace lifecycle {

/// Whether `Created` is shown while it is True. Kubeflow's Python SDK takes a job for running only while its
/// conditions are empty.
enum class CreatedCondition { always, on_failure };

inline constexpr std::size_t max_conditions = 8;
inline constexpr std::size_t max_message_characters = 32768;

/// Returns whether only this controller writes conditions of that type: Created, Suspended, Complete, Failed,
/// Stalled.
bool is_built_in(std::string_view type);

/// Returns whether the condition leaves open if the JobSet will be created: the creation is about to happen,
/// or errors last that are no verdict on an object. Such a condition has no event.
bool is_open(const api::Condition& condition);

/// Adds `condition` or replaces the one of its type. The transition time changes only together with the
/// status and never goes back; a `last_transition` of zero means `now`. The message is cut to size.
void set_condition(std::vector<api::Condition>& conditions, api::Condition condition, api::Time now);

/// Merges the conditions of plugins; removes those without a status. Leaves out built-in types, and
/// conditions that the API server would refuse.
void merge_plugin_conditions(std::vector<api::Condition>& conditions,
                             std::span<const api::Condition> contributed, std::int64_t generation,
                             api::Time now);

/// Returns the conditions in the order in which they are stored (the last one is the state of the job), at
/// most max_conditions: those of plugins are left out first.
std::vector<api::Condition> in_order(std::vector<api::Condition> conditions);

}  // namespace lifecycle
