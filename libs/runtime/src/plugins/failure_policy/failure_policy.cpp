#include <algorithm>
#include <map>

#include "api/json.hpp"
#include "api/names.hpp"
#include "build/failure_rules.hpp"
#include "runtime/plugin.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

// The maximum number of values of the rules in all jobs together. Each job gets all rules, so a runtime of 30
// KB could become a JobSet of many megabytes. The cost of a reconcile, which bounds how many run side by
// side, counts the runtime alone.
constexpr std::size_t most_values = 20'000;
constexpr const char* rules_path = "spec.runPolicy.failurePolicy.rules";

// Returns whether a Job can have the rule: it is refused if a rule names a container that its Pods do not
// have.
bool concerns(const Json& rule, const Json& pod_spec) {
    const std::string_view container = rule["onExitCodes"]["containerName"].as_string();
    return container.empty() || has_container(pod_spec, container);
}

// Returns exit codes as a Job must have them: sorted, each of them once.
Json sorted_codes(const Json& values) {
    std::vector<std::int64_t> codes;
    for (const Json& value : values.items()) codes.push_back(value.int_or(0));
    std::sort(codes.begin(), codes.end());
    codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
    Json list = Json::array();
    for (const std::int64_t code : codes) list.push_back(code);
    return list;
}

Json pod_rule(const Json& rule) {
    Json made = Json::object({{"action", "FailJob"}});
    if (const Json& wanted = rule["onExitCodes"]; !wanted.is_null()) {
        Json& codes = made["onExitCodes"];
        if (!wanted["containerName"].empty()) codes["containerName"] = wanted["containerName"];
        codes["operator"] = wanted["operator"];
        codes["values"] = sorted_codes(wanted["values"]);
        return made;
    }
    Json& conditions = made["onPodConditions"] = Json::array();
    for (const Json& wanted : rule["onPodConditions"].items())
        conditions.push_back(
            Json::object({{"type", wanted["type"]},
                          {"status", wanted["status"].empty() ? Json("True") : wanted["status"]}}));
    return made;
}

// Returns the JobSet's name of an action: "FailJobSet" for "FailTrainJob".
std::string action_of_job_set(std::string_view action) {
    constexpr std::string_view from = "TrainJob";
    std::string text(action);
    if (const auto at = text.find(from); at != text.npos) text.replace(at, from.size(), "JobSet");
    return text;
}

// The names of the jobs that have a rule, by the rule's position in their podFailurePolicy.
using Places = std::map<std::size_t, Json>;

// Makes each Job fail with its first Pod that fails, so that the JobSet decides what happens. Returns the
// places of each rule.
std::vector<Places> fail_at_once(Json& job_set_spec, const std::vector<Json>& rules) {
    std::vector<Places> places(rules.size());
    Json* jobs = job_set_spec.find("replicatedJobs");
    if (!jobs) return places;
    for (Json& job : jobs->items()) {
        Json pod_rules = Json::array();
        for (std::size_t i = 0; i < rules.size(); ++i) {
            if (!concerns(rules[i], pod_spec_of(job))) continue;
            Json& targets = places[i][pod_rules.items().size()];
            if (targets.is_null()) targets = Json::array();
            targets.push_back(std::as_const(job)["name"]);
            pod_rules.push_back(pod_rule(rules[i]));
        }
        Json& spec = job["template"]["spec"];
        spec["backoffLimit"] = 0;
        spec["podFailurePolicy"] = Json::object({{"rules", std::move(pod_rules)}});
        // These fields would let a Job go on after a failure, or be refused beside a podFailurePolicy.
        for (const char* member : {"backoffLimitPerIndex", "maxFailedIndexes", "podReplacementPolicy"})
            spec.erase(member);
        spec["template"]["spec"]["restartPolicy"] = "Never";
    }
    return places;
}

// Returns the JobSet's rules. Each recognizes a failed Job by the position of its podFailurePolicy's rule,
// with which the Job controller ends the message of such a failure.
Json job_set_rules(const std::vector<Json>& rules, const std::vector<Places>& places) {
    Json made = Json::array();
    for (std::size_t i = 0; i < rules.size(); ++i)
        for (const auto& [position, jobs] : places[i]) {
            std::string name = "TrainJobFailurePolicyRule" + std::to_string(i);
            if (places[i].size() > 1) name += "_" + std::to_string(position);
            made.push_back(Json::object(
                {{"name", std::move(name)},
                 {"action", action_of_job_set(rules[i]["action"].as_string())},
                 {"onJobFailureReasons", Json::array({"PodFailurePolicy"})},
                 {"onJobFailureMessagePatterns",
                  Json::array({"matching FailJob rule at index " + std::to_string(position) + "$"})},
                 {"targetReplicatedJobs", jobs}}));
        }
    return made;
}

std::size_t values_in_all_jobs(const std::vector<Json>& rules, const Json& job_set_spec) {
    std::size_t values = 0;
    for (const Json& rule : rules) values += count_tree_values(pod_rule(rule));
    return values * job_set_spec["replicatedJobs"].items().size();
}

std::string too_many_text(std::size_t values) {
    return "must have at most " + std::to_string(most_values) + " values in all jobs together, and have " +
           std::to_string(values) + ": each job gets all rules";
}

std::int64_t max_restarts(const Json& of_job, const Json& of_runtime) {
    const auto own = of_job["maxRestarts"].as_int();
    return own ? *own : of_runtime["maxRestarts"].int_or(0);
}

// Notes the restarts of the TrainJob's former JobSets. Replaces an annotation of the template, which would
// refill or empty the budget.
void note_restarts_before(const Inputs& inputs, Info& info) {
    if (inputs.restarts_before != api::Restarts())
        info.annotations[api::restarts_before_annotation] = restarts_before_text(inputs.restarts_before);
    else if (info.annotations.is_object())
        info.annotations.erase(api::restarts_before_annotation);
}

void note_unused_rules(const std::vector<Json>& rules, const std::vector<Places>& places, Info& info) {
    for (std::size_t i = 0; i < rules.size(); ++i)
        if (places[i].empty())
            info.warnings.push_back(
                {"FailureRuleUnused",
                 "rule " + std::to_string(i) +
                     " of the runtime's failure policy has no effect: no Pod has a container \"" +
                     std::string(rules[i]["onExitCodes"]["containerName"].as_string()) + "\""});
}

class FailurePolicyPlugin final : public Plugin {
public:
    std::string_view name() const override { return "failurepolicy"; }

    api::Result<> enforce_pod_spec(const Inputs& inputs, Info& info) const override {
        note_restarts_before(inputs, info);
        const Json& of_job = inputs.job.spec["failurePolicy"];
        const Json& of_runtime = failure_policy_of(inputs.runtime);
        if (of_job.is_null() && of_runtime.is_null()) return {};
        const std::vector<Json> rules = failure_rules_in_force(of_runtime);
        if (const std::size_t values = values_in_all_jobs(rules, info.spec); values > most_values)
            return api::invalid("spec.runtimeRef",
                                std::string(rules_path) + " of the runtime " + too_many_text(values));
        const std::vector<Places> places = fail_at_once(info.spec, rules);
        note_unused_rules(rules, places, info);
        info.spec["failurePolicy"] =
            Json::object({{"maxRestarts", std::max<std::int64_t>(0, max_restarts(of_job, of_runtime) -
                                                                        inputs.restarts_before.counted)},
                          {"rules", job_set_rules(rules, places)}});
        return {};
    }

    void validate_runtime(const Json& runtime, api::FieldErrors& errors) const override {
        const Json& policy = failure_policy_of(runtime);
        if (policy.is_null()) return;
        const std::size_t values =
            values_in_all_jobs(failure_rules_in_force(policy), runtime["spec"]["template"]["spec"]);
        if (values > most_values)
            errors.push_back({api::FieldErrorType::invalid,
                              rules_path,
                              policy["rules"].items().size(),
                              too_many_text(values),
                              {},
                              {}});
    }
};

}  // namespace

std::unique_ptr<Plugin> make_failure_policy() { return std::make_unique<FailurePolicyPlugin>(); }

}  // namespace runtime
