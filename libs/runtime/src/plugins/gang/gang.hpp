#pragma once
#include "runtime/plugin.hpp"

/// The shared part of the plugins for gang scheduling.
namespace runtime {

/// Adds the needs of the PodGroup of the TrainJob's name, and of its `minResources`.
void add_gang_needs(const NeedsContext& context, const api::Resource& pod_groups, Needs& needs);

/// Returns the jobs whose Pods are scheduled together, in order: those that start with the job called "node",
/// or else with the one that trains. Pods that start only when others are ready or done are not part of it.
std::vector<const PodSet*> gang_members(Info& info);

/// A policy of the runtime that excludes the others.
api::Result<> check_only_gang_policy(const Info& info);

/// Returns the PodGroup with `minMember` and `minResources`, which the caller completes.
api::Result<api::Json> make_pod_group(const Inputs& inputs, Info& info, const api::Resource& pod_groups);

}  // namespace runtime
