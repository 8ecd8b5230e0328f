#include "build/template_rules.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "api/dns_label.hpp"
#include "api/names.hpp"
#include "runtime/plugin.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

// JobSet accepts any name of a job, but a Job with an invalid one never gets Pods. No schema admits two jobs
// of one name, but a snapshot may have thousands, each of which would get all settings of the TrainJob.
void check_job_names(const Json& jobs, FieldErrors& errors) {
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < jobs.items().size(); ++i) {
        const std::string_view name = jobs[i]["name"].as_string();
        if (!api::is_dns_label(name))
            errors.push_back({FieldErrorType::invalid,
                              replicated_job_path(i) + ".name",
                              jobs[i]["name"],
                              "must be a DNS label (a-z, 0-9, hyphens): it becomes part of Pod names",
                              {}});
        else if (!seen.insert(name).second)
            errors.push_back({FieldErrorType::duplicate,
                              replicated_job_path(i) + ".name",
                              jobs[i]["name"],
                              "each replicated job needs a name of its own",
                              {}});
    }
}

void check_one_trainer(const Json& jobs, FieldErrors& errors) {
    bool found = false;
    for (std::size_t i = 0; i < jobs.items().size(); ++i) {
        if (ancestor_of(jobs[i]) != api::ancestor_trainer) continue;
        if (found)
            errors.push_back(
                {FieldErrorType::invalid,
                 replicated_job_path(i) + ".template.metadata.labels",
                 jobs[i]["name"],
                 "only one job may have the label " + std::string(api::ancestor_label) + ": trainer",
                 {}});
        found = true;
    }
}

void check_host_names(const Json& runtime_spec, std::string_view framework, FieldErrors& errors) {
    const Json& flag = runtime_spec["template"]["spec"]["network"]["enableDNSHostnames"];
    if (!flag.bool_or(true))
        errors.push_back({FieldErrorType::invalid,
                          "spec.template.spec.network.enableDNSHostnames",
                          flag,
                          "must not be false: mlPolicy." + std::string(framework) + " needs host names",
                          {}});
}

// Pods of a Job without indices have neither a rank nor a host name.
void check_indices(const Json& jobs, std::string_view framework, FieldErrors& errors) {
    for (std::size_t i = 0; i < jobs.items().size(); ++i) {
        const Json& job = jobs[i]["template"];
        const Json& mode = job["spec"]["completionMode"];
        if (job["metadata"]["labels"][api::ancestor_label].as_string() == api::ancestor_trainer &&
            mode.as_string() == "NonIndexed")
            errors.push_back(
                {FieldErrorType::invalid,
                 replicated_job_path(i) + ".template.spec.completionMode",
                 mode,
                 "must be Indexed: mlPolicy." + std::string(framework) + " needs the rank of each Pod",
                 {}});
    }
}

}  // namespace

FieldErrors validate_template(const Json& runtime, const ActivePlugins& plugins) {
    FieldErrors errors;
    check_job_names(runtime["spec"]["template"]["spec"]["replicatedJobs"], errors);
    check_one_trainer(runtime["spec"]["template"]["spec"]["replicatedJobs"], errors);
    for (const Plugin* plugin : plugins)
        if (const Policy* policy = plugin->policy(); policy && policy->needs_host_names) {
            check_host_names(runtime["spec"], policy->member, errors);
            check_indices(runtime["spec"]["template"]["spec"]["replicatedJobs"], policy->member, errors);
        }
    return errors;
}

void refuse_runtime(const ValidationInputs& review, std::string why, api::FieldErrors& errors) {
    errors.push_back(
        {api::FieldErrorType::invalid, "spec.runtimeRef", review.job.runtime_ref.name, std::move(why), {}});
}

api::Error to_error(const api::FieldError& error) { return api::invalid(error.field, error.detail); }

}  // namespace runtime
