#include "template/forbidden_fields.hpp"

#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr std::string_view deadline = "activeDeadlineSeconds";
constexpr std::string_view ttl = "ttlSecondsAfterFinished";

void add(std::vector<TemplateField>& found, const Json& holder, std::string_view member, std::string_view job,
         const std::string& path) {
    if (const Json& value = holder[member]; !value.is_null())
        found.push_back({path + "." + std::string(member), std::string(job), std::string(member), value});
}

}  // namespace

std::vector<TemplateField> forbidden_fields(const Json& job_set_spec) {
    std::vector<TemplateField> found;
    add(found, job_set_spec, ttl, "", "spec.template.spec");
    const auto& jobs = job_set_spec["replicatedJobs"].items();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Json& spec = jobs[i]["template"]["spec"];
        const std::string path = replicated_job_path(i) + ".template.spec";
        add(found, spec, deadline, jobs[i]["name"].as_string(), path);
        add(found, spec, ttl, jobs[i]["name"].as_string(), path);
    }
    return found;
}

void strip_forbidden_fields(Json& job_set_spec) {
    job_set_spec.erase(ttl);
    Json* jobs = job_set_spec.find("replicatedJobs");
    if (!jobs || !jobs->is_array()) return;
    for (Json& job : jobs->items())
        if (Json* job_template = job.find("template"))
            if (Json* spec = job_template->find("spec")) {
                spec->erase(deadline);
                spec->erase(ttl);
            }
}

}  // namespace runtime
