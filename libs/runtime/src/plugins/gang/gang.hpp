#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "resources/pod_requests.hpp"
#include "runtime/plugin.hpp"

/// The shared part of the plugins for gang scheduling.
namespace runtime {

/// Pods of one job in a gang.
struct GangMember {
    const PodSet* pods = nullptr;
    std::int64_t count = 0;      ///< of all replicas; of an elastic job the least that it needs
    ResourceList requests = {};  ///< of each Pod
};

/// Adds the needs of gang_requests(): LimitRanges and RuntimeClasses.
void add_request_needs(const NeedsContext& context, Needs& needs);
/// Adds the needs of the PodGroup of the TrainJob's name, and of its `minResources`.
void add_gang_needs(const NeedsContext& context, const api::Resource& pod_groups, Needs& needs);

/// Returns the jobs whose Pods start at the same time as those of job `first`, in order. Takes time and
/// memory in proportion to the size of the dependencies.
std::vector<const PodSet*> started_with(const Info& info, std::size_t first);

/// Returns the jobs whose Pods are scheduled together, in order: those that start with the job called "node",
/// or else with the one that trains. Pods that start only when others are ready or done are not part of it.
std::vector<const PodSet*> gang_members(Info& info);

/// Returns how many Pods of each of these jobs must start together, and what the scheduler reserves for one
/// of them. Fails if a quantity cannot be read, or if all together are more Pods than an int32 can count.
api::Result<std::vector<GangMember>> gang_requests(const Inputs& inputs, const Info& info,
                                                   const std::vector<const PodSet*>& jobs);

/// Returns the only priority class of the Pods that have one, or "". Fails if there are several. `scheduler`
/// is its name in the error's text.
api::Result<std::string> only_priority_class(const api::Json& job_set_spec, std::string_view scheduler);

/// Fails if the runtime has more than one policy for gangs.
api::Result<> check_only_gang_policy(const Info& info);

/// Returns the PodGroup with `minMember` and `minResources`, which the caller completes.
api::Result<api::Json> make_pod_group(const Inputs& inputs, Info& info, const api::Resource& pod_groups);

}  // namespace runtime
