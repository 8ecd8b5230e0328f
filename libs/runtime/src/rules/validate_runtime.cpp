#include <algorithm>
#include <functional>
#include <set>

#include "api/dns_label.hpp"
#include "api/names.hpp"
#include "api/run_policy.hpp"
#include "api/text.hpp"
#include "build/pod_sets.hpp"
#include "build/steps.hpp"
#include "build/template_rules.hpp"
#include "build/trainer_errors.hpp"
#include "resources/claims.hpp"
#include "rules/runtime_rules.hpp"
#include "rules/validation_context.hpp"
#include "runtime/plugin.hpp"
#include "template/edit.hpp"
#include "template/forbidden_fields.hpp"
#include "template/replicated_jobs.hpp"
#include "template/shape.hpp"

namespace runtime {
namespace {

using api::FieldError;
using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

// Takes an error and its identity. An error that the old object has, too, has the same identity there: it
// names a job instead of the job's position, which may have changed. Of the errors of the old object only
// identities are kept, since there may be many errors.
using OnError = std::function<void(FieldError error, std::string identity)>;

void add(const OnError& found, FieldError error, std::string_view job, std::string_view what) {
    std::string identity = std::string(job) + "|" + std::string(what) + "|" + to_json(error.value);
    found(std::move(error), std::move(identity));
}

// Checks that the job's name leaves room for the name of a TrainJob in the names of its Pods.
void check_job_name(const Json& job, const PodSet& pods, const OnError& found) {
    const std::int64_t left = longest_name_for(job, pods);
    if (!api::is_dns_label(pods.name) || left >= 1) return;  // validate_template() reports the former
    const std::string rule =
        "must be shorter by " + std::to_string(1 - left) +
        " characters at least: no TrainJob's name is short enough for its Pods to have valid names";
    add(found,
        {FieldErrorType::invalid,
         replicated_job_path(pods.index) + ".name",
         pods.name,
         rule,
         {},
         Rule::template_unbuildable},
        pods.name, "name");
}

Json names_of(const Json& list) {
    Json names = Json::array();
    for (const Json& item : list.items()) names.push_back(item["name"]);
    return names;
}

void check_job(const Json& job, std::size_t index, const OnError& found) {
    const std::string_view name = job["name"].as_string();
    const Json& replicas = job["replicas"];
    const std::string ancestor(job["template"]["metadata"]["labels"][api::ancestor_label].as_string());
    if (!is_known_ancestor(ancestor)) return;
    if (replicas.int_or(1) != 1)
        add(found,
            {FieldErrorType::invalid,
             replicated_job_path(index) + ".replicas",
             replicas,
             "must be 1 for a job with the label " + std::string(api::ancestor_label) + ": " + ancestor,
             {},
             Rule::role_replicas},
            name, "replicas");
    const std::string container(ancestor == api::ancestor_trainer ? api::node_container
                                                                  : std::string_view(ancestor));
    const Json& containers = job["template"]["spec"]["template"]["spec"]["containers"];
    if (!find_named(containers, container))
        found({FieldErrorType::invalid,
               replicated_job_path(index) + ".template.spec.template.spec.containers",
               names_of(containers),
               "must have a container \"" + container + "\" in a job with the label " +
                   std::string(api::ancestor_label) + ": " + ancestor,
               {},
               Rule::role_container},
              // The same error, whatever containers there are instead.
              std::string(name) + "|container " + container);
}

void check_forbidden_fields(const Json& job_set_spec, const OnError& found) {
    for (const TemplateField& field : forbidden_fields(job_set_spec)) {
        const bool deadline = field.member == "activeDeadlineSeconds";
        add(found,
            {FieldErrorType::forbidden,
             field.path,
             field.value,
             deadline ? "set spec.activeDeadlineSeconds of the TrainJob instead"
                      : "set spec.ttlSecondsAfterFinished of the runtime instead",
             {},
             Rule::template_time_limits},
            field.job, field.member);
    }
}

constexpr std::string_view ttl = "ttlSecondsAfterFinished";

// Returns where the time to live is that counts.
std::string path_of_ttl(const Json& runtime) {
    return (runtime["spec"]["runPolicy"][ttl].is_null() ? "spec." : "spec.runPolicy.") + std::string(ttl);
}

void check_deadlines(const Json& runtime, const OnError& found) {
    const api::RunPolicy policy = api::run_policy_of(runtime);
    const auto& usual = policy.active_deadline_seconds;
    const auto& most = policy.max_active_deadline_seconds;
    if (usual && most && *usual > *most)
        add(found,
            {FieldErrorType::invalid,
             "spec.runPolicy.activeDeadlineSeconds",
             *usual,
             "must be at most maxActiveDeadlineSeconds, " + std::to_string(*most),
             {},
             Rule::deadline_order},
            {}, "deadlines|" + std::to_string(*most));
}

// The schema compares those of `runPolicy` alone.
void check_ttls(const Json& runtime, const OnError& found) {
    const api::RunPolicy policy = api::run_policy_of(runtime);
    const auto& usual = policy.ttl_seconds_after_finished;
    const auto& most = policy.max_ttl_seconds_after_finished;
    if (usual && most && *usual > *most)
        add(found,
            {FieldErrorType::invalid,
             path_of_ttl(runtime),
             *usual,
             "must be at most maxTtlSecondsAfterFinished, " + std::to_string(*most),
             {},
             Rule::ttl_order},
            {}, "ttls|" + std::to_string(*most));
}

void check_failure_policy(const Json& runtime, const ActivePlugins& plugins, const OnError& found) {
    for (KeyedError& keyed : runtime_failure_policy_errors(runtime, plugins))
        add(found, std::move(keyed.error), keyed.job, keyed.what);
}

// Those of the gang's policy are in the Pods, too, and are reported once, by its plugin.
void check_claims(const Json& runtime, const ActivePlugins& plugins, const OnError& found) {
    const auto merged = merged_template(runtime, Json(), plugins);
    if (!merged) return;
    FieldErrors errors = validate_claims(merged->spec);
    name_rule(errors, 0, Rule::resource_claims);
    for (const FieldError& error : errors) add(found, error, {}, error.detail);
}

// Calls `found` with each error of a runtime. Returns how many further errors there are, of which only the
// number is known.
std::size_t for_each_error(const Json& runtime, const Pipeline& pipeline, const OnError& found) {
    const Json& job_set_spec = runtime["spec"]["template"]["spec"];
    const auto& jobs = job_set_spec["replicatedJobs"].items();
    const ActivePlugins plugins(pipeline, runtime);
    const auto pod_sets = count_pods(job_set_spec, plugins, std::nullopt);
    for (std::size_t i = 0; i < jobs.size(); ++i) check_job(jobs[i], i, found);
    check_forbidden_fields(job_set_spec, found);
    check_deadlines(runtime, found);
    check_ttls(runtime, found);
    check_failure_policy(runtime, plugins, found);
    for (const PodSet& pods : pod_sets) check_job_name(jobs[pods.index], pods, found);
    check_claims(runtime, plugins, found);
    FieldErrors errors = validate_template(runtime, plugins);
    for (const Plugin* plugin : plugins) plugin->validate_runtime(runtime, plugins, errors);
    name_rule(errors, 0, Rule::template_unbuildable);
    for (const FieldError& error : errors) add(found, error, {}, error.detail);
    return errors.more();
}

// Returns the deadlines of Pods, by job. They are allowed, but may not do what the author of the runtime
// expects.
std::vector<std::string> pod_deadlines(const Json& runtime) {
    std::vector<std::string> found;
    for (const Json& job : runtime["spec"]["template"]["spec"]["replicatedJobs"].items())
        if (const Json& value = job["template"]["spec"]["template"]["spec"]["activeDeadlineSeconds"];
            !value.is_null())
            found.push_back(std::string(job["name"].as_string()) + "|" + to_json(value));
    return found;
}

// Returns a warning for each job whose completions the build replaces by its parallelism.
std::vector<std::string> completion_warnings(const Json& runtime) {
    std::vector<std::string> found;
    const auto& jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"].items();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Json& job = jobs[i]["template"]["spec"];
        const std::int64_t at_a_time = std::max<std::int64_t>(1, job["parallelism"].int_or(1));
        if (job["completions"].int_or(at_a_time) != at_a_time)
            found.push_back(replicated_job_path(i) + ".template.spec.completions: job " +
                            api::cut_bytes(jobs[i]["name"].as_string(), 63) +
                            " runs as many Pods as its parallelism says, " + std::to_string(at_a_time) +
                            ", and no more after them");
    }
    return found;
}

// Returns a warning for each resource that no Pod can have. It is no error, since a TrainJob may replace the
// quantity.
std::set<std::string> resource_warnings(const Json& runtime, const Pipeline& pipeline) {
    std::set<std::string> found;
    for (FieldError& error : unusable_resources(runtime, api::TrainJob(), ActivePlugins(pipeline, runtime)))
        found.insert(std::move(error.detail));
    return found;
}

// Returns both values of the TTL, which a runtime can have in two places, if they differ; else an empty text.
std::string differing_ttls(const Json& runtime) {
    const Json& one = runtime["spec"]["runPolicy"][ttl];
    const Json& other = runtime["spec"][ttl];
    return one.is_null() || other.is_null() || one == other ? "" : to_json(one) + "|" + to_json(other);
}

// Returns the warning about an UPDATE that gives new TrainJobs another TTL; empty for any other.
std::string warning_of_ttl(const Json& object, const Json& before) {
    const auto now = api::run_policy_of(object).ttl_seconds_after_finished;
    if (api::ttl_applies_to(object) == api::TtlAppliesTo::all_jobs) return {};
    if (before.is_null() || !now || now == api::run_policy_of(before).ttl_seconds_after_finished) return {};
    return path_of_ttl(object) +
           " counts for TrainJobs that begin now; others keep the longer TTL of then and now";
}

std::vector<api::Warning> new_warnings_of_failure_policy(const Json& object, const Json& before) {
    std::vector<api::Warning> now = warnings_of_failure_policy(object);
    const auto known = warnings_of_failure_policy(before);
    std::erase_if(now, [&](const api::Warning& each) {
        return std::find(known.begin(), known.end(), each) != known.end();
    });
    return now;
}

api::Warnings warnings_of_plugins(const Json& runtime, const Pipeline& pipeline) {
    const ActivePlugins plugins(pipeline, runtime);
    api::Warnings found;
    for (const Plugin* plugin : plugins) {
        const std::size_t before = found.size();
        plugin->add_runtime_warnings(runtime, plugins, found);
        if (!plugin->warning_rules().empty()) found.name_rule(before, plugin->warning_rules().front());
    }
    return found;
}

}  // namespace

ValidationResult validate_runtime(const Json& object, const Json& old_object, const Pipeline& pipeline,
                                  const Gates& gates) {
    ValidationResult result;
    if (const auto shape = check_runtime_shape(object, pipeline); !shape) {
        result.errors.push_back(
            {FieldErrorType::invalid, shape.error().field, {}, shape.error().message, {}, Rule::malformed});
        return result;
    }
    const Json nothing;
    const Json& before = check_runtime_shape(old_object, pipeline) ? old_object : nothing;
    std::set<std::string> known;
    const std::size_t unknown =
        for_each_error(before, pipeline,
                       [&](const FieldError&, std::string identity) { known.insert(std::move(identity)); });
    const std::size_t more =
        for_each_error(object, pipeline, [&](FieldError error, const std::string& identity) {
            // If the old object had errors without an identity, each error is taken for one of those.
            if (!known.contains(identity) && unknown == 0) result.errors.push_back(std::move(error));
        });
    if (unknown == 0) result.errors.leave_out(more);
    result.errors.append(gated_runtime_fields(object["spec"], before["spec"], gates));
    const auto warn = [&result](Rule rule, std::string text) {
        result.warnings.push_back({.text = std::move(text), .rule = rule});
    };
    if (is_deprecated(object) && !is_deprecated(before))
        warn(Rule::runtime_deprecated,
             deprecation_warning(object["kind"].as_string(), object["metadata"]["name"].as_string()));
    if (const auto deadlines = pod_deadlines(object);
        !deadlines.empty() && deadlines != pod_deadlines(before))
        warn(Rule::pod_deadline,
             "activeDeadlineSeconds of a Pod template ends Pods regardless of the TrainJob's deadline");
    const auto replaced = completion_warnings(before);
    for (std::string& warning : completion_warnings(object))
        if (std::find(replaced.begin(), replaced.end(), warning) == replaced.end())
            warn(Rule::replaced_completions, std::move(warning));
    const auto warned = resource_warnings(before, pipeline);
    for (const std::string& warning : resource_warnings(object, pipeline))
        if (!warned.contains(warning)) warn(Rule::runtime_resources, warning);
    if (const std::string differing = differing_ttls(object);
        !differing.empty() && differing != differing_ttls(before))
        warn(Rule::two_ttls,
             "spec.runPolicy.ttlSecondsAfterFinished counts, and not the other one, "
             "spec.ttlSecondsAfterFinished");
    if (std::string text = warning_of_ttl(object, before); !text.empty())
        warn(Rule::ttl_changed, std::move(text));
    if (result.errors.empty())
        for (api::Warning& warning : new_warnings_of_failure_policy(object, before))
            result.warnings.push_back(std::move(warning));
    if (const std::string shared = shared_subdomain(object);
        !shared.empty() && shared != shared_subdomain(before))
        warn(Rule::shared_subdomain, subdomain_warning("spec.template.spec.network.subdomain"));
    const auto found_by_name = host_network_warnings(before, ActivePlugins(pipeline, before));
    for (const std::string& warning : host_network_warnings(object, ActivePlugins(pipeline, object)))
        if (!found_by_name.contains(warning)) warn(Rule::host_network, warning);
    const api::Warnings known_warnings = warnings_of_plugins(before, pipeline);
    for (const api::Warning& warning : warnings_of_plugins(object, pipeline)) {
        // As above: only a runtime without errors gets warnings about its failure policy.
        if (!result.errors.empty() && warning.rule == api::RuleId(Rule::replaced_failure_handling)) continue;
        if (std::find(known_warnings.begin(), known_warnings.end(), warning) == known_warnings.end())
            result.warnings.push_back(warning);
    }
    return result;
}

}  // namespace runtime
