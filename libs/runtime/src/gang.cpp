#include "gang.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "api/names.hpp"
#include "pod_requests.hpp"

namespace runtime {
namespace {

using api::Json;
using Names = std::set<std::string_view>;

const Json& pod_spec_of(const Json& job) { return job["template"]["spec"]["template"]["spec"]; }

Need runtime_class(std::string_view name) {
    return {.api_version = "node.k8s.io/v1", .kind = "RuntimeClass", .key = {.name = std::string(name)}};
}

// Per job, all that must have come before it. A job may depend on earlier ones only.
std::vector<Names> dependencies(const Json& job_set_spec) {
    const bool one_by_one = job_set_spec["startupPolicy"]["startupPolicyOrder"].as_string() == "InOrder";
    std::vector<Names> all;
    std::map<std::string_view, std::size_t> earlier;
    for (const Json& job : job_set_spec["replicatedJobs"].items()) {
        Names before;
        if (one_by_one)
            for (const auto& [name, index] : earlier) before.insert(name);
        for (const Json& dependency : job["dependsOn"].items()) {
            const auto at = earlier.find(dependency["name"].as_string());
            if (at == earlier.end()) continue;
            before.insert(at->first);
            before.insert(all[at->second].begin(), all[at->second].end());
        }
        earlier.emplace(job["name"].as_string(), all.size());
        all.push_back(std::move(before));
    }
    return all;
}

std::string pod_spec_path(std::size_t job) {
    return "spec.template.spec.replicatedJobs[" + std::to_string(job) + "].template.spec.template.spec";
}

}  // namespace

void add_gang_needs(const NeedsContext& context, std::string_view pod_group_api_version, Needs& needs) {
    needs.objects.push_back({.api_version = std::string(pod_group_api_version),
                             .kind = "PodGroup",
                             .key = context.job.meta.key(),
                             .ours = Applied::with_job_set});
    needs.objects.push_back({.api_version = "v1", .kind = "LimitRange", .key = {context.job.meta.ns, ""}});
    std::set<std::string_view> classes;
    for (const Json& job : context.merged_spec["replicatedJobs"].items())
        if (const auto name = pod_spec_of(job)["runtimeClassName"].as_string(); !name.empty())
            classes.insert(name);
    for (const std::string_view name : classes) needs.objects.push_back(runtime_class(name));
}

std::vector<const PodSet*> gang_members(Info& info) {
    const PodSet* first = info.pod_set(api::node_container);
    if (!first) first = info.trainer_pod_set();
    if (!first && !info.pod_sets.empty()) first = &info.pod_sets.front();
    std::vector<const PodSet*> members;
    if (!first) return members;
    const std::vector<Names> before = dependencies(info.spec);
    for (const PodSet& pods : info.pod_sets)
        if (before[pods.index] == before[first->index]) members.push_back(&pods);
    return members;
}

api::Result<> check_only_gang_policy(const Info& info) {
    if (info.pod_group_policy["coscheduling"].is_object() && info.pod_group_policy["volcano"].is_object())
        return api::invalid("spec.podGroupPolicy", "coscheduling and volcano exclude each other");
    return {};
}

api::Result<Json> make_pod_group(const Inputs& inputs, Info& info, std::string_view pod_group_api_version) {
    PodDefaults defaults = {.requests = default_requests(inputs.observed)};
    std::int64_t pods = 0;
    ResourceList sum;
    for (const PodSet* member : gang_members(info)) {
        const Json& spec = info.pod_spec(*member);
        const Json* found =
            find_observed(inputs.observed, runtime_class(spec["runtimeClassName"].as_string()));
        defaults.overhead = found ? (*found)["overhead"]["podFixed"] : Json();
        const auto requests = pod_requests(spec, defaults);
        if (!requests)
            return api::invalid(pod_spec_path(member->index) + "." + requests.error().field,
                                requests.error().message);
        const Json& job = std::as_const(info.spec)["replicatedJobs"][member->index];
        const std::int64_t replicas = std::max<std::int64_t>(0, job["replicas"].int_or(1));
        const std::int64_t count = replicas * std::max<std::int64_t>(0, member->count);
        pods += count;
        for (const auto& [name, quantity] : *requests) sum[name] += count * quantity;
    }
    if (pods > std::numeric_limits<std::int32_t>::max())
        return api::invalid("spec.trainer.numNodes", "makes more than 2^31 Pods, which no gang can have");
    Json group = Json::object({{"apiVersion", pod_group_api_version}, {"kind", "PodGroup"}});
    group["metadata"]["name"] = info.job.meta.name;
    group["spec"]["minMember"] = pods;
    for (const auto& [name, quantity] : sum) group["spec"]["minResources"][name] = to_string(quantity);
    return group;
}

}  // namespace runtime
