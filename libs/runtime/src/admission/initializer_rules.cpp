#include "admission/validation_context.hpp"
#include "api/names.hpp"
#include "template/edit.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr std::string_view volume = "initializer";

bool mounts_volume(const Json* container) {
    if (!container) return false;
    for (const Json& mount : (*container)["volumeMounts"].items())
        if (mount["name"].as_string() == volume) return true;
    return false;
}

// What the initializer called `name`, also of its job and its container, lacks; empty if nothing.
std::string missing_for(std::string_view name, const Json& job_set_spec) {
    const std::string quoted = "\"" + std::string(name) + "\"";
    const Json* job = find_named(job_set_spec["replicatedJobs"], name);
    if (!job) return "job " + quoted;
    const Json& pod_spec = (*job)["template"]["spec"]["template"]["spec"];
    const Json* container = find_named(pod_spec["containers"], name);
    if (!container && !find_named(pod_spec["initContainers"], name))
        return "container " + quoted + " in its job " + quoted;
    if (!mounts_volume(container)) return "mount of volume \"initializer\" in its container " + quoted;
    return {};
}

}  // namespace

void initializers_have_jobs(const ValidationContext& review, api::FieldErrors& errors) {
    struct Step {
        std::string_view member;
        std::string_view name;
        std::string_view rule;
    };
    constexpr Step steps[] = {{"dataset", api::ancestor_dataset_initializer, "dataset_initializer"},
                              {"model", api::ancestor_model_initializer, "model_initializer"}};
    for (const auto& [member, name, rule] : steps) {
        if (!review.job.spec["initializer"][member].is_object()) continue;
        const std::string missing = missing_for(name, review.merged_spec);
        if (!missing.empty())
            errors.push_back({api::FieldErrorType::invalid,
                              "spec.runtimeRef",
                              review.job.runtime_ref.name,
                              "the runtime has no " + missing + ", which spec.initializer." +
                                  std::string(member) + " needs",
                              {},
                              rule});
    }
}

}  // namespace runtime
