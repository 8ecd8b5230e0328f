#include "rules/runtime_rules.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "api/dns_label.hpp"
#include "api/failure_policy.hpp"
#include "build/failure_rules.hpp"
#include "rules/validation_context.hpp"
#include "runtime/plugin.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::FieldError;
using api::FieldErrorType;
using api::Json;
using KeyedErrors = std::vector<KeyedError>;

constexpr const char* rules_path = "spec.runPolicy.failurePolicy.rules";

std::string rule_path(std::size_t index, const char* member) {
    return std::string(rules_path) + "[" + std::to_string(index) + "]." + member;
}

void add(KeyedErrors& errors, std::string field, Json value, std::string detail) {
    FieldError error = {FieldErrorType::invalid, std::move(field), std::move(value), detail, {},
                        Rule::failure_rules};
    errors.push_back({.error = std::move(error), .what = std::move(detail)});
}

void check_template(const Json& job_set_spec, KeyedErrors& errors) {
    for (TemplateField& field : failure_handling(job_set_spec)) {
        FieldError error = {FieldErrorType::forbidden,
                            std::move(field.path),
                            std::move(field.value),
                            "cannot be beside spec.runPolicy.failurePolicy, which decides",
                            {},
                            Rule::template_failure_handling};
        errors.push_back(
            {.error = std::move(error), .job = std::move(field.job), .what = std::move(field.member)});
    }
}

std::set<std::string_view> container_names(const Json& runtime, const ActivePlugins& plugins) {
    std::set<std::string_view> names;
    for (const Json& job : jobs_of(runtime).items())
        for (const char* list : {"containers", "initContainers"})
            for (const Json& container : pod_spec_of(job)[list].items())
                names.insert(container["name"].as_string());
    for (const Plugin* plugin : plugins)
        if (const Policy* policy = plugin->policy()) names.insert(policy->added_container);
    return names;
}

void check_codes(const Json& codes, std::size_t rule, const std::set<std::string_view>& containers,
                 KeyedErrors& errors) {
    const std::string_view container = codes["containerName"].as_string();
    if (!container.empty() && !containers.contains(container))
        add(errors, rule_path(rule, "onExitCodes.containerName"), container,
            "no job of the runtime has such a container");
    const auto& values = codes["values"].items();
    if (codes["operator"].as_string() == "In" &&
        std::find(values.begin(), values.end(), Json(0)) != values.end())
        add(errors, rule_path(rule, "onExitCodes.values"), 0,
            "must not contain 0 with the operator In, since 0 is no failure");
}

void check_conditions(const Json& conditions, std::size_t rule, KeyedErrors& errors) {
    for (std::size_t i = 0; i < conditions.items().size(); ++i) {
        const Json& type = conditions[i]["type"];
        if (!api::is_qualified_name(type.as_string()))
            add(errors, rule_path(rule, "onPodConditions") + "[" + std::to_string(i) + "].type", type,
                "must be the type of a condition, such as DisruptionTarget or example.com/TooSlow");
    }
}

// A reason may name a resource, as OutOfexample.com/gpu does.
bool is_reason(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("-_./:,").find(static_cast<char>(c)) != std::string_view::npos;
    });
}

void check_reasons(const Json& reasons, std::size_t rule, KeyedErrors& errors) {
    for (std::size_t i = 0; i < reasons.items().size(); ++i)
        if (!is_reason(reasons[i].as_string()))
            add(errors, rule_path(rule, "onPodReasons") + "[" + std::to_string(i) + "]", reasons[i],
                "must be a reason in full, such as OOMKilled or Evicted");
}

void check_exclusion(const Json& rule, std::size_t index, KeyedErrors& errors) {
    if (rule["action"].as_string() == "FailTrainJob" && rule["excludeNode"].bool_or(false))
        add(errors, rule_path(index, "excludeNode"), true,
            "must not be true with the action FailTrainJob, after which no attempt follows");
}

void check_backoff(const Json& backoff, KeyedErrors& errors) {
    const std::int64_t usual = api::FailurePolicy().first_delay.count();
    const std::int64_t first = backoff["initialSeconds"].int_or(usual);
    const auto longest = backoff["maxSeconds"].as_int();
    if (longest && *longest < first)
        add(errors, "spec.runPolicy.failurePolicy.backoff.maxSeconds", *longest,
            "must be at least initialSeconds, " + std::to_string(first));
}

void check_policy(const Json& runtime, const ActivePlugins& plugins, KeyedErrors& errors) {
    const Json& policy = failure_policy_of(runtime);
    const auto& rules = policy["rules"].items();
    const auto containers = container_names(runtime, plugins);
    for (std::size_t i = 0; i < rules.size(); ++i) {
        check_codes(rules[i]["onExitCodes"], i, containers, errors);
        check_conditions(rules[i]["onPodConditions"], i, errors);
        check_reasons(rules[i]["onPodReasons"], i, errors);
        check_exclusion(rules[i], i, errors);
    }
    check_backoff(policy["backoff"], errors);
}

// Returns a warning about fields of the runtime's jobs that a failure policy overrules; empty if there are
// none.
std::string replaced_handling(const Json& runtime, std::string_view policy) {
    bool tries_again = false, restarts = false;
    for (const Json& job : jobs_of(runtime).items()) {
        const Json& limit = job["template"]["spec"]["backoffLimit"];
        const Json& restart = pod_spec_of(job)["restartPolicy"];
        tries_again = tries_again || (!limit.is_null() && limit != Json(0));
        restarts = restarts || (!restart.empty() && restart != "Never");
    }
    if (!tries_again && !restarts) return {};
    return std::string(tries_again ? "backoffLimit" : "") + (tries_again && restarts ? " and " : "") +
           (restarts ? "restartPolicy" : "") + " of the runtime's jobs " +
           (tries_again && restarts ? "have" : "has") + " no effect beside " + std::string(policy);
}

void policy_has_an_effect(const ValidationContext& review, api::FieldErrors& errors) {
    errors.append(job_failure_policy_errors(review.runtime, review.job));
}

// Warns of the policy of a TrainJob only. The author of a policy in the runtime was warned when it was
// written.
void warn_of_replaced_handling(const ValidationContext& review, api::Warnings& warnings) {
    if (review.is_denied || review.job.spec["failurePolicy"].is_null() ||
        !failure_policy_of(review.runtime).is_null())
        return;
    if (std::string text = replaced_handling(review.runtime, "spec.failurePolicy"); !text.empty())
        warnings.push_back(std::move(text));
}

constexpr Check checks[] = {
    {Rule::failure_policy_overruled, policy_has_an_effect, RuleInput::runtime, AppliesTo::creations},
};

constexpr Warner warners[] = {
    {Rule::replaced_failure_handling, warn_of_replaced_handling, RuleInput::runtime, AppliesTo::creations},
};

}  // namespace

constinit const std::span<const Check> failure_policy_checks = checks;
constinit const std::span<const Warner> failure_policy_warnings = warners;

KeyedErrors runtime_failure_policy_errors(const Json& runtime, const ActivePlugins& plugins) {
    KeyedErrors errors;
    if (failure_policy_of(runtime).is_null()) return errors;
    check_template(runtime["spec"]["template"]["spec"], errors);
    check_policy(runtime, plugins, errors);
    return errors;
}

std::vector<api::Warning> warnings_of_failure_policy(const Json& runtime) {
    std::vector<api::Warning> found;
    if (failure_policy_of(runtime).is_null()) return found;
    if (std::string text = replaced_handling(runtime, "spec.runPolicy.failurePolicy"); !text.empty())
        found.push_back({std::move(text), Rule::replaced_failure_handling});
    return found;
}

}  // namespace runtime
