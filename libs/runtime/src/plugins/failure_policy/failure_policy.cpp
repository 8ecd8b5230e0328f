#include <algorithm>
#include <utility>

#include "api/json.hpp"
#include "api/names.hpp"
#include "build/failure_rules.hpp"
#include "build/template_rules.hpp"
#include "plugins/failure_policy/claims.hpp"
#include "runtime/plugin.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr api::RuleId admission_rules[] = {api::RuleId("claim_templates")};

bool is_in_force(const Json& runtime, const Json& train_job_spec) {
    return !failure_policy_of(runtime).is_null() || !train_job_spec["failurePolicy"].is_null();
}

// Notes the restarts of the TrainJob's former JobSets. Replaces an annotation of the template, which would
// refill or empty the budget, or make a JobSet an attempt.
void note_restarts_before(const Inputs& inputs, Info& info) {
    for (const std::string_view name : {api::restarts_before_annotation, api::attempt_annotation,
                                        api::excluded_nodes_annotation, api::finished_jobs_annotation})
        if (info.annotations.is_object()) info.annotations.erase(name);
    if (inputs.restarts_before != api::Restarts())
        info.annotations[api::restarts_before_annotation] = restarts_before_text(inputs.restarts_before);
}

// The only failures that a Job tells apart: its Pods that are disrupted are deleted, mostly before anyone has
// seen what became of them.
Json rules_for_disruptions() {
    Json condition = Json::object({{"type", "DisruptionTarget"}, {"status", "True"}});
    Json rule =
        Json::object({{"action", "FailJob"}, {"onPodConditions", Json::array({std::move(condition)})}});
    return Json::object({{"rules", Json::array({std::move(rule)})}});
}

// Makes each Job fail with its first Pod that fails.
void fail_at_once(Json& job) {
    Json& spec = job["template"]["spec"];
    spec["backoffLimit"] = 0;
    spec["podFailurePolicy"] = rules_for_disruptions();
    // These fields would let a Job go on after a failure, or be refused beside a podFailurePolicy.
    for (const char* member : {"backoffLimitPerIndex", "maxFailedIndexes", "podReplacementPolicy"})
        spec.erase(member);
    spec["template"]["spec"]["restartPolicy"] = "Never";
}

// Makes the JobSet fail with its first Job that fails. Its reason tells whether Pods were disrupted.
Json policy_of_attempts() {
    Json rule = Json::object({{"name", "Disruption"},
                              {"action", "FailJobSet"},
                              {"onJobFailureReasons", Json::array({"PodFailurePolicy"})}});
    return Json::object({{"maxRestarts", 0}, {"rules", Json::array({std::move(rule)})}});
}

// By name, not by a label, which need not be the name. The terms of a selector are alternatives, so each of
// them gets all nodes; a requirement has one name at most.
void avoid(Json& pod_spec, const std::vector<std::string>& nodes) {
    Json& required = pod_spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    Json& terms = required["nodeSelectorTerms"];
    const bool is_first = terms.items().empty();
    if (is_first) terms = Json::array({Json::object()});
    for (Json& term : terms.items()) {
        // An empty one matches no node.
        if (term.members().empty() && !is_first) continue;
        Json& fields = term["matchFields"];
        if (!fields.is_array()) fields = Json::array();
        for (const std::string& node : nodes)
            fields.push_back(Json::object(
                {{"key", "metadata.name"}, {"operator", "NotIn"}, {"values", Json::array({node})}}));
    }
}

// Kueue's topology-aware scheduling chooses the node of each Pod, and does not know of the affinity.
bool is_placed_by_kueue(const Json& pod_template) {
    const auto& gates = pod_template["spec"]["schedulingGates"].items();
    const auto& annotations = pod_template["metadata"]["annotations"].members();
    return std::any_of(gates.begin(), gates.end(),
                       [](const Json& gate) { return gate["name"] == "kueue.x-k8s.io/topology"; }) ||
           std::any_of(annotations.begin(), annotations.end(), [](const auto& annotation) {
               const auto& [key, value] = annotation;
               const std::string_view name = key;
               return name.starts_with("kueue.x-k8s.io/podset-") && name.ends_with("-topology");
           });
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
    return text;
}

class FailurePolicyPlugin final : public Plugin {
public:
    std::string_view name() const override { return "failurepolicy"; }
    std::span<const api::RuleId> rules() const override { return admission_rules; }

    void add_needs(const NeedsContext& context, Needs& all) const override {
        if (is_in_force(context.runtime, context.job.spec))
            add_claim_needs(context.merged_spec, context.job.meta.key(), all);
    }

    void validate(const ValidationInputs& review, api::FieldErrors& errors) const override {
        if (!review.is_new || !is_in_force(review.runtime, review.job.spec)) return;
        for (const api::FieldError& error : claim_template_errors(review.merged_spec))
            refuse_runtime(review, error.field + ": " + body(error), errors);
    }

    void validate_runtime(const Json& runtime, const ActivePlugins& /*plugins*/,
                          api::FieldErrors& errors) const override {
        if (is_in_force(runtime, Json()))
            errors.append(claim_template_errors(runtime["spec"]["template"]["spec"]));
    }

    api::Result<> enforce_pod_spec(const Inputs& inputs, Info& info) const override {
        note_restarts_before(inputs, info);
        if (!is_in_force(inputs.runtime, inputs.job.spec)) return {};
        info.annotations[api::attempt_annotation] = std::to_string(inputs.restarts_before.all);
        if (!inputs.excluded_nodes.empty())
            info.annotations[api::excluded_nodes_annotation] = joined(inputs.excluded_nodes);
        if (!inputs.finished_jobs.empty())
            info.annotations[api::finished_jobs_annotation] = joined(inputs.finished_jobs);
        info.spec["failurePolicy"] = policy_of_attempts();
        Json* jobs = info.spec.find("replicatedJobs");
        if (!jobs) return {};
        for (Json& job : jobs->items()) {
            fail_at_once(job);
            Json& pod_template = job["template"]["spec"]["template"];
            if (!inputs.excluded_nodes.empty() && info.plugins.trains(job) &&
                !is_placed_by_kueue(std::as_const(pod_template)))
                avoid(pod_template["spec"], inputs.excluded_nodes);
        }
        // Jobs that have finished are left out, with their mounts. The first attempt had them all.
        if (inputs.finished_jobs.empty())
            if (const auto errors = claim_template_errors(info.spec); !errors.empty())
                return to_error(errors.front());
        info.claims = take_claims(info.spec, inputs.job.meta.name);
        return {};
    }

    api::Result<> build(const Inputs& /*inputs*/, Info& info, Built& built) const override {
        for (Json& claim : info.claims) built.objects.push_back({std::move(claim), ApplyPolicy::once});
        info.claims.clear();
        return {};
    }
};

}  // namespace

std::unique_ptr<Plugin> make_failure_policy() { return std::make_unique<FailurePolicyPlugin>(); }

}  // namespace runtime
