#pragma once
#include "runtime/plugin.hpp"

/// The shared part of the plugins for gang scheduling.
namespace runtime {

/// Adds the needs of the PodGroup of the TrainJob's name, and of its `minResources`.
void add_gang_needs(const NeedsContext& context, const api::Resource& pod_groups, Needs& needs);

/// A job of a gang.
struct GangJob {
    const PodSet* pods;
    /// Its Pods start together with those of the other members, and the scheduler waits for all of them.
    /// Else it is a follower, such as a launcher that waits until nodes are ready. No scheduler can wait for
    /// its Pods, but they need room beside the members', or these wait for them in vain.
    bool is_member;
};
using Gang = std::vector<GangJob>;

/// Returns the jobs whose Pods belong to the gang, in order: those that start with the job called "node", or
/// else with the one that trains, and those that follow them.
Gang gang_of(Info& info);

/// A policy of the runtime that excludes the others.
api::Result<> check_only_gang_policy(const Info& info);

/// Returns the PodGroup with `minMember`, the number of the members' Pods, and `minResources`, which
/// followers need, too. The caller completes it.
api::Result<api::Json> make_pod_group(const Inputs& inputs, Info& info, const api::Resource& pod_groups);

}  // namespace runtime
