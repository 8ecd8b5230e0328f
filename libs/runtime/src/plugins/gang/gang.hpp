#pragma once
#include "runtime/plugin.hpp"

/// What ways of gang scheduling have in common.
namespace runtime {

/// PodGroup of the TrainJob's name, and what its `minResources` depends on.
void add_gang_needs(const NeedsContext& context, const api::Resource& pod_groups, Needs& needs);

/// The jobs whose Pods are scheduled together: those that start with the one called "node", or else with the
/// one that trains. Pods that start only when others are ready or done must not be waited for. In order.
std::vector<const PodSet*> gang_members(Info& info);

/// A policy of the runtime that excludes the other ones.
api::Result<> check_only_gang_policy(const Info& info);

/// The PodGroup with `minMember` and `minResources`, to be completed.
api::Result<api::Json> make_pod_group(const Inputs& inputs, Info& info, const api::Resource& pod_groups);

}  // namespace runtime
