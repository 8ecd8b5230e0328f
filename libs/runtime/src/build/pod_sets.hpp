#pragma once
#include <vector>

#include "api/json.hpp"
#include "runtime/active_plugins.hpp"
#include "runtime/info.hpp"

namespace runtime {

/// The PodSets of a JobSetSpec, in its order, with the number of Pods that each is going to have.
/// `plugins` are those of the runtime; `num_nodes` is the TrainJob's.
std::vector<PodSet> count_pods(const api::Json& spec, const ActivePlugins& plugins,
                               std::optional<std::int64_t> num_nodes);

/// Pods of the job that trains, where the policy lets `num_nodes` decide: that, else the policy's own number,
/// else 1.
std::int64_t nodes_that_train(const api::Json& ml_policy, std::optional<std::int64_t> num_nodes);

/// The three steps of a TrainJob run once each.
bool is_known_ancestor(std::string_view ancestor);

}  // namespace runtime
