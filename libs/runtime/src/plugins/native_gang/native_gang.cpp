// Kubernetes' own scheduler, from 1.37 (k8s.io/api/scheduling/v1beta1): Pods name the PodGroup that they
// belong to. Its condition PodGroupInitiallyScheduled never returns to False, and its claims are released
// with it, so each run of a TrainJob has a PodGroup of its own.
#include <set>
#include <utility>

#include "build/pod_sets.hpp"
#include "build/template_rules.hpp"
#include "plugins/gang/gang.hpp"
#include "plugins/native_gang/waiting_gang.hpp"
#include "runtime/plugin.hpp"
#include "template/edit.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

// All Pods of a group have the same.
constexpr std::string_view scheduler = "default-scheduler";
constexpr std::size_t most_claims = 4;  // scheduling.MaxPodGroupResourceClaims

// Of a PodGroup: the attempt and the resume that it was made for. A delayed deletion of one that was made for
// an earlier run does not meet that of the next.
constexpr std::string_view run_annotation = "trainer.kubeflow.org/run";

// A server that lacks a gate drops its fields without a word, and each Pod would get a claim of its own.
constexpr Requirement requirements[] = {
    {{}, "scheduling.k8s.io/v1beta1 (Kubernetes 1.37 with the feature gate GenericWorkload)"},
    {"resourceClaims", "the feature gate DRAWorkloadResourceClaims"},
    {"schedulingConstraints", "the feature gate TopologyAwareWorkloadScheduling"}};

constexpr Shape claims_shape = {{}, &any_object, false, most_claims};
constexpr ShapeMember policy_members[] = {{"resourceClaims", claims_shape}};
constexpr Shape policy_shape = {policy_members};

constexpr Policy native_policy = {.group = pod_group_policy_group,
                                  .member = "kubernetes",
                                  .shape = &policy_shape,
                                  .owned_kind = &native_pod_groups,
                                  .owned_for = OwnedFor::run};

constexpr api::RuleId admission_rules[] = {api::RuleId("native_gang")};

std::string path_of_claim(std::size_t index) {
    return "spec.podGroupPolicy.kubernetes.resourceClaims[" + std::to_string(index) + "]";
}

// Returns the first job of the gang whose Pods cannot be in its PodGroup, and why.
std::optional<api::Error> misfit(const Json& job_set_spec, const Gang& gang) {
    const Json* first = nullptr;
    for (const GangJob& each : gang) {
        const std::size_t index = each.pods->index;
        const Json& pod_spec = pod_spec_of(job_set_spec["replicatedJobs"][index]);
        if (std::string why = wrong_scheduler(native_policy.member, scheduler, pod_spec); !why.empty())
            return api::invalid(pod_spec_path(index) + ".schedulerName", std::move(why));
        if (!first) first = &pod_spec;
        const auto of_first = (*first)["priorityClassName"].as_string();
        const auto name = pod_spec["priorityClassName"].as_string();
        if (name != of_first)
            return api::invalid(pod_spec_path(index) + ".priorityClassName",
                                "\"" + std::string(name) + "\" differs from \"" + std::string(of_first) +
                                    "\" of an earlier job: under podGroupPolicy.kubernetes all jobs of the "
                                    "gang have the same");
    }
    return std::nullopt;
}

using Source = std::pair<std::string_view, std::string_view>;
Source source_of(const Json& claim) {
    return {claim["resourceClaimName"].as_string(), claim["resourceClaimTemplateName"].as_string()};
}

bool has_one_source(const Json& claim) {
    const auto [existing, made] = source_of(claim);
    return existing.empty() != made.empty();
}

// Adds the errors of the policy's claims.
void check_claims(const Json& claims, const auto& refuse) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < claims.items().size(); ++i) {
        if (!has_one_source(claims[i]))
            refuse(i, "must have exactly one of resourceClaimName and resourceClaimTemplateName");
        if (!names.insert(claims[i]["name"].as_string()).second)
            refuse(i, "has the name of an earlier claim of the gang");
    }
}

// Returns an error if Pods of the job have another claim of that name: their own would win.
std::optional<api::Error> taken_name(const Json& claims, const Json& job, std::size_t index) {
    const auto& of_pod = pod_spec_of(job)["resourceClaims"].items();
    for (std::size_t i = 0; i < of_pod.size(); ++i)
        if (const Json* of_gang = find_named(claims, of_pod[i]["name"].as_string());
            of_gang && source_of(*of_gang) != source_of(of_pod[i]))
            return api::invalid(pod_spec_path(index) + ".resourceClaims[" + std::to_string(i) + "]",
                                "\"" + std::string(of_pod[i]["name"].as_string()) +
                                    "\" has another source than the gang's claim of this name, in "
                                    "spec.podGroupPolicy.kubernetes.resourceClaims");
    return std::nullopt;
}

bool uses_claim(const Json& pod_spec, std::string_view name) {
    for (const std::string_view list : {"initContainers", "containers"})
        for (const Json& container : pod_spec[list].items())
            if (find_named(container["resources"]["claims"], name)) return true;
    return false;
}

// Returns the claims that can be written into Pods. Whoever reads the others reports them.
Json usable_claims(const Json& claims) {
    Json usable = Json::array();
    for (const Json& claim : claims.items())
        if (has_one_source(claim)) usable.push_back(claim);
    return usable;
}

// Returns which jobs have nodes in the gang: their Pods get its claims. A Pod without the PodGroup would have
// devices of its own.
std::vector<bool> nodes_of_gang(const Json& job_set_spec, const ActivePlugins& plugins) {
    const auto& jobs = job_set_spec["replicatedJobs"].items();
    const auto pod_sets = count_pods(job_set_spec, plugins, std::nullopt);
    std::vector<bool> found(jobs.size());
    for (const GangJob& each : gang_of(job_set_spec, pod_sets))
        found[each.pods->index] = plugins.has_nodes(jobs[each.pods->index]);
    return found;
}

// Returns the claims of the gang that a Pod gets: those that it does not have yet.
Json missing_claims(const Json& claims, const Json& pod_spec) {
    Json missing = Json::array();
    for (const Json& claim : claims.items())
        if (!find_named(pod_spec["resourceClaims"], claim["name"].as_string())) missing.push_back(claim);
    return missing;
}

Json unused_claims(const Json& claims, const Json& pod_spec) {
    Json unused = Json::array();
    for (const Json& claim : claims.items())
        if (!uses_claim(pod_spec, claim["name"].as_string())) unused.push_back(claim);
    return unused;
}

class NativeGang final : public WaitingGangPlugin {
public:
    std::string_view name() const override { return "native_gang"; }
    const Policy* policy() const override { return &native_policy; }
    std::span<const api::RuleId> rules() const override { return admission_rules; }

    const Json& shared_claims(const Json& policy) const override { return policy["resourceClaims"]; }

    void complete_template(const Json& runtime, const ActivePlugins& plugins,
                           Json& job_set_spec) const override {
        const Json claims = usable_claims(policy_of(runtime)["resourceClaims"]);
        Json* jobs = job_set_spec.find("replicatedJobs");
        if (claims.items().empty() || !jobs) return;
        const std::vector<bool> is_node = nodes_of_gang(job_set_spec, plugins);
        for (std::size_t i = 0; i < is_node.size(); ++i) {
            if (!is_node[i]) continue;
            Json& pod_spec = jobs->items()[i]["template"]["spec"]["template"]["spec"];
            upsert_all_claims(pod_spec, missing_claims(claims, pod_spec));
            if (Json* node = find_named(pod_spec.find("containers"), api::node_container))
                add_missing_claims(*node, unused_claims(claims, pod_spec));
        }
    }

    void add_needs(const NeedsContext& context, Needs& needs) const override {
        needs.objects.push_back({.resource = native_pod_groups,
                                 .key = context.job.meta.key(),
                                 .optional = true,
                                 .apply = ApplyPolicy::for_run});
    }

    void validate(const ValidationInputs& review, api::FieldErrors& errors) const override {
        if (review.merged_spec.is_null()) return;
        const auto refuse = [&](const api::Error& error) {
            refuse_runtime(review, error.field + ": " + error.message, errors);
        };
        const auto num_nodes = review.job.spec["trainer"]["numNodes"].as_int();
        const auto pod_sets = count_pods(review.merged_spec, review.plugins, num_nodes);
        if (const auto error = misfit(review.merged_spec, gang_of(review.merged_spec, pod_sets)))
            refuse(*error);
        if (const auto error = claim_error(review.runtime, review.merged_spec, review.plugins))
            refuse(*error);
        refuse_empty_gang(native_policy.member, review, errors);
    }

    void validate_runtime(const Json& runtime, const ActivePlugins& plugins,
                          api::FieldErrors& errors) const override {
        const auto refuse = [&](api::Error error, const Json& value) {
            errors.push_back(
                {api::FieldErrorType::invalid, std::move(error.field), value, std::move(error.message), {}});
        };
        const Json& claims = policy_of(runtime)["resourceClaims"];
        check_claims(claims, [&](std::size_t index, std::string why) {
            refuse(api::invalid(path_of_claim(index), std::move(why)), claims[index]["name"]);
        });
        const Json& job_set_spec = runtime["spec"]["template"]["spec"];
        const auto pod_sets = count_pods(job_set_spec, plugins, std::nullopt);
        if (auto error = misfit(job_set_spec, gang_of(job_set_spec, pod_sets)))
            refuse(*std::move(error), Json());
        const auto& jobs = job_set_spec["replicatedJobs"].items();
        const std::vector<bool> is_node = nodes_of_gang(job_set_spec, plugins);
        for (std::size_t i = 0; i < jobs.size(); ++i)
            if (is_node[i])
                if (auto error = taken_name(claims, jobs[i], i)) refuse(*std::move(error), Json());
    }

    api::Result<> enforce_pod_group_policy(const Inputs& inputs, Info& info) const override {
        if (auto error = claim_error(inputs.runtime, info.spec, info.plugins)) return *std::move(error);
        for (const GangJob& each : gang_of(info.spec, info.pod_sets))
            info.pod_spec(*each.pods)["schedulingGroup"]["podGroupName"] = info.job.meta.name;
        return check_only_gang_policy(info);
    }

    bool pods_wait_for_owned(const Json& job_set) const override {
        const auto& jobs = job_set["spec"]["replicatedJobs"].items();
        return std::any_of(jobs.begin(), jobs.end(), [&](const Json& job) {
            return job["template"]["spec"]["template"]["spec"]["schedulingGroup"]["podGroupName"] ==
                   job_set["metadata"]["name"];
        });
    }

    api::Result<> build(const Inputs& inputs, Info& info, Built& built) const override {
        if (auto error = empty_gang(native_policy.member, info)) return *std::move(error);
        const Gang gang = gang_of(info.spec, info.pod_sets);
        if (auto error = misfit(info.spec, gang)) return *std::move(error);
        // At least one: if none of them runs again, their followers go on.
        const std::int64_t members = std::max<std::int64_t>(1, members_of(without_done(gang)));
        if (members > std::numeric_limits<std::int32_t>::max())
            return api::invalid("spec.trainer.numNodes", "makes more than 2^31 Pods, which no gang can have");
        const Json& policy = policy_of(inputs.runtime);
        Json group =
            Json::object({{"apiVersion", api_version(native_pod_groups)}, {"kind", native_pod_groups.kind}});
        group["metadata"]["name"] = info.job.meta.name;
        group["metadata"]["annotations"][run_annotation] =
            std::to_string(inputs.restarts_before.all) + "-" + last_resume(info.job);
        Json& spec = group["spec"];
        spec["schedulingPolicy"]["gang"]["minCount"] = members;
        const bool is_single = policy["disruptionMode"].as_string() == "Single";
        spec["disruptionMode"][is_single ? "single" : "all"] = Json::object();
        const Json& first = pod_spec_of(std::as_const(info.spec)["replicatedJobs"][gang.front().pods->index]);
        if (const Json& priority = first["priorityClassName"]; !priority.empty())
            spec["priorityClassName"] = priority;
        if (const Json& key = policy["topologyKey"]; !key.empty())
            spec["schedulingConstraints"]["topology"] = Json::array({Json::object({{"key", key}})});
        if (!policy["resourceClaims"].items().empty()) upsert_all_claims(spec, policy["resourceClaims"]);
        built.objects.push_back({std::move(group), ApplyPolicy::for_run, requirements});
        return {};
    }

    std::optional<RelatedObjects> related_objects(const std::vector<Json>& pods) const override {
        return group_of_waiting(pods);
    }
    void add_scheduling_problems(std::vector<Json>& pods, const std::vector<Json>& groups) const override {
        add_gang_problem(pods, groups);
    }

private:
    std::optional<api::Error> claim_error(const Json& runtime, const Json& job_set_spec,
                                          const ActivePlugins& plugins) const {
        const Json& claims = policy_of(runtime)["resourceClaims"];
        if (claims.items().empty()) return std::nullopt;
        std::optional<api::Error> found;
        check_claims(claims, [&](std::size_t index, std::string why) {
            if (!found) found = api::invalid(path_of_claim(index), std::move(why));
        });
        const auto& jobs = job_set_spec["replicatedJobs"].items();
        const std::vector<bool> is_node = nodes_of_gang(job_set_spec, plugins);
        for (std::size_t i = 0; i < jobs.size() && !found; ++i)
            if (is_node[i]) found = taken_name(claims, jobs[i], i);
        if (!found && !std::count(is_node.begin(), is_node.end(), true))
            found =
                api::invalid("spec.podGroupPolicy.kubernetes.resourceClaims",
                             "no job of the gang trains (label " + std::string(api::ancestor_label) + ": " +
                                 std::string(api::ancestor_trainer) + "), so no Pod would get these claims");
        return found;
    }
};

}  // namespace

std::unique_ptr<Plugin> make_native_gang() { return std::make_unique<NativeGang>(); }

}  // namespace runtime
