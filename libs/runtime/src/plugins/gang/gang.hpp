#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "resources/pod_requests.hpp"
#include "runtime/info.hpp"
#include "runtime/plugin.hpp"

/// The shared part of the plugins for gang scheduling.
namespace runtime {

/// A job of a gang.
struct GangJob {
    const PodSet* pods = nullptr;
    /// True: the job's Pods start together with those of the other members, and the scheduler waits for all
    /// of them. False: the job is a follower, such as a launcher that waits until nodes are ready. No
    /// scheduler can wait for a follower's Pods, but they need room beside the members' Pods, which else wait
    /// for them in vain.
    bool is_member = true;
    /// Its Pods that need room at the same time, of all replicas: of an elastic job the least that it needs.
    /// The largest number instead of an overflow.
    std::int64_t count = 0;
};
using Gang = std::vector<GangJob>;

/// The room of one job of a gang.
struct GangRoom {
    GangJob job = {};
    ResourceList requests = {};  ///< of each Pod
};

/// Adds the needs of gang_room(): LimitRanges and RuntimeClasses.
void add_request_needs(const NeedsContext& context, Needs& needs);
/// Adds the needs of the PodGroup of the TrainJob's name, written with the JobSet, and of its `minResources`.
void add_gang_needs(const NeedsContext& context, const api::Resource& pod_groups, Needs& needs);

/// Returns the seconds of the TrainJob's last resume in base 16, which tell one run from another; empty
/// before the first one.
std::string last_resume(const api::TrainJob& job);

/// Returns the jobs whose Pods start at the same time as those of job `first`, in order: members all. Takes
/// time and memory in proportion to the size of the dependencies.
Gang started_with(const Info& info, std::size_t first);

/// Returns the jobs whose Pods belong to the gang, in order: those that start with the job called "node", or
/// else with the one that trains, and those that follow them.
Gang gang_of(const api::Json& job_set_spec, const std::vector<PodSet>& pod_sets);

/// Returns the gang without the Pods that do not run again, after a suspension. For schedulers that do not
/// count Pods that have ended.
Gang without_done(Gang gang);

/// Returns the number of the members' Pods that the scheduler waits for. The largest number instead of an
/// overflow.
std::int64_t members_of(const Gang& gang);

/// Returns the error of a TrainJob whose gang has no Pods, for a scheduler that needs one. `policy` is the
/// member of podGroupPolicy.
std::optional<api::Error> empty_gang(std::string_view policy, const Info& info);
/// Adds the same error at admission.
void refuse_empty_gang(std::string_view policy, const ValidationInputs& review, api::FieldErrors& errors);

/// Returns why Pods with another `schedulerName` cannot be part of the gang; empty if they can.
std::string wrong_scheduler(std::string_view policy, std::string_view scheduler, const api::Json& pod_spec);

/// Returns how many Pods of each of these jobs need room at the same time, and what the scheduler reserves
/// for one of them. Fails if a quantity cannot be read, or if all together are more Pods than an int32 can
/// count.
api::Result<std::vector<GangRoom>> gang_room(const Inputs& inputs, const Info& info, const Gang& gang);

/// Returns the annotation of the JobSet: of the last patch that has it, or else the runtime's; null if there
/// is none.
const api::Json& job_set_annotation(const ValidationInputs& review, std::string_view key);

/// Returns the only priority class of the Pods that have one, or "". Fails if there are several. `scheduler`
/// is its name in the error's text.
api::Result<std::string> only_priority_class(const api::Json& job_set_spec, std::string_view scheduler);

/// Fails if the runtime has more than one policy for gangs.
api::Result<> check_only_gang_policy(const Info& info);

/// Returns the PodGroup with `minMember`, the number of the members' Pods, and `minResources`, which
/// followers need, too. The caller completes it.
api::Result<api::Json> make_pod_group(const Inputs& inputs, const Info& info, const Gang& gang,
                                      const api::Resource& pod_groups);

/// Returns why the scheduler gives a Pod no node; empty if it has one, or if nothing is known.
std::string scheduling_problem(const api::Json& pod);
/// Replaces it.
void set_scheduling_problem(api::Json& pod, const std::string& problem);

/// A plugin whose gangs have the condition `GangReady`, by the JobSet's counts of Jobs: whether all Pods of
/// the members are ready, or which job's are not. None before there are counts, while the job is suspended,
/// once it has ended, and for elastic members, which run without some of their Pods.
class GangPlugin : public Plugin {
public:
    std::span<const std::string_view> condition_types() const override;
    void add_conditions(const ConditionsContext& context,
                        std::vector<api::Condition>& conditions) const override;
};

/// One whose scheduler gives no Pod a node before all are there. With YuniKorn the first Pod gets one, since
/// placeholders stand for the Pods that are not there yet. JobSet's exclusive topology creates the other Pods
/// of a Job once the first has a node, so they wait for each other: the warning `exclusive_gang`, at most
/// once.
class WaitingGangPlugin : public GangPlugin {
public:
    std::span<const api::RuleId> warning_rules() const override;
    void add_warnings(const ValidationInputs& review, api::Warnings& warnings) const override;
    void add_runtime_warnings(const api::Json& runtime, const ActivePlugins& plugins,
                              api::Warnings& warnings) const override;
};
inline constexpr api::RuleId exclusive_gang_rule("exclusive_gang");

/// One whose scheduler is not Kubernetes' own: Pods must name it, or each is placed alone. A runtime whose
/// gang names none gets the warning `gang_scheduler`, unless the platform has set one.
class NamedGangPlugin : public WaitingGangPlugin {
public:
    /// `scheduler`: of Pods that name none; "": none.
    explicit NamedGangPlugin(std::string scheduler) : scheduler_(std::move(scheduler)) {}

    std::span<const api::RuleId> warning_rules() const override;
    void add_runtime_warnings(const api::Json& runtime, const ActivePlugins& plugins,
                              api::Warnings& warnings) const override;

protected:
    void name_scheduler(Info& info) const;

private:
    std::string scheduler_;
};

}  // namespace runtime
