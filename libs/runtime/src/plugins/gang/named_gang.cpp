#include <algorithm>

#include "build/pod_sets.hpp"
#include "plugins/gang/gang.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr api::RuleId gang_scheduler_rule("gang_scheduler");
constexpr api::RuleId warning_names[] = {exclusive_gang_rule, gang_scheduler_rule};

}  // namespace

std::span<const api::RuleId> NamedGangPlugin::warning_rules() const { return warning_names; }

void NamedGangPlugin::add_runtime_warnings(const Json& runtime, const ActivePlugins& plugins,
                                           api::Warnings& warnings) const {
    WaitingGangPlugin::add_runtime_warnings(runtime, plugins, warnings);
    if (!scheduler_.empty()) return;
    const Json& job_set_spec = runtime["spec"]["template"]["spec"];
    const auto& jobs = job_set_spec["replicatedJobs"].items();
    const std::vector<PodSet> pod_sets = count_pods(job_set_spec, plugins, std::nullopt);
    const Gang gang = gang_of(job_set_spec, pod_sets);
    const auto alone = std::find_if(gang.begin(), gang.end(), [&](const GangJob& each) {
        return pod_spec_of(jobs[each.pods->index])["schedulerName"].empty();
    });
    if (alone == gang.end()) return;
    warnings.push_back({.text = "job " + alone->pods->name + ": no schedulerName under podGroupPolicy." +
                                std::string(policy()->member) +
                                "; the default scheduler places each Pod alone",
                        .rule = gang_scheduler_rule});
}

void NamedGangPlugin::name_scheduler(Info& info) const {
    if (scheduler_.empty()) return;
    for (const GangJob& each : gang_of(info.spec, info.pod_sets)) {
        Json& name = info.pod_spec(*each.pods)["schedulerName"];
        if (name.empty()) name = scheduler_;
    }
}

}  // namespace runtime
