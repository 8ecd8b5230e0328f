#include "build/taken_fields.hpp"

#include <algorithm>

#include "api/names.hpp"
#include "build/trainer_errors.hpp"
#include "template/edit.hpp"
#include "template/member_at.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

bool has_container(const Json& job, std::string_view name) {
    return find_named(pod_spec_of(job)["containers"], name) != nullptr;
}

bool has_node(const Json& job) { return has_container(job, api::node_container); }

bool gets_program(const Json& job, const ActivePlugins&) { return takes_program(job) && has_node(job); }
bool gets_image(const Json& job, const ActivePlugins& plugins) {
    return plugins.takes_image(job) && has_node(job);
}
bool gets_env(const Json& job, const ActivePlugins& plugins) { return plugins.trains(job) && has_node(job); }
bool gets_resources(const Json& job, const ActivePlugins& plugins) {
    return plugins.gets_resources_per_node(job) && has_node(job);
}
bool is_scaled(const Json& job, const ActivePlugins& plugins) { return plugins.is_scaled(job); }
bool takes_processes(const Json& job, const ActivePlugins& plugins) { return plugins.takes_processes(job); }

bool downloads(const Json& job, std::string_view step) {
    return ancestor_of(job) == step && has_container(job, step);
}
bool downloads_dataset(const Json& job, const ActivePlugins&) {
    return downloads(job, api::ancestor_dataset_initializer);
}
bool downloads_model(const Json& job, const ActivePlugins&) {
    return downloads(job, api::ancestor_model_initializer);
}

bool has_content(const Json& value) { return !value.empty(); }
// An empty text overrides the runtime's, too.
bool is_given(const Json& value) { return !value.is_null(); }
// The schema makes an empty name of none.
bool has_name(const Json& value) { return !value["name"].empty(); }

constexpr TakenField fields[] = {
    {"trainer.image", WithoutJob::denies, has_content, gets_image},
    {"trainer.command", WithoutJob::denies, has_content, gets_program},
    {"trainer.args", WithoutJob::denies, has_content, gets_program},
    {"trainer.env", WithoutJob::denies, has_content, gets_env},
    {"trainer.resourceClaimsPerNode", WithoutJob::denies, has_content, gets_resources},
    {"trainer.numNodes", WithoutJob::warns, has_content, is_scaled},
    {"trainer.numProcPerNode", WithoutJob::warns, has_content, takes_processes},
    {"trainer.resourcesPerNode", WithoutJob::warns, has_content, gets_resources},
    {"initializer.dataset.storageUri", WithoutJob::denies, is_given, downloads_dataset},
    {"initializer.dataset.env", WithoutJob::denies, has_content, downloads_dataset},
    {"initializer.dataset.secretRef", WithoutJob::denies, has_name, downloads_dataset},
    {"initializer.model.storageUri", WithoutJob::denies, is_given, downloads_model},
    {"initializer.model.env", WithoutJob::denies, has_content, downloads_model},
    {"initializer.model.secretRef", WithoutJob::denies, has_name, downloads_model},
};

}  // namespace

constinit const std::span<const TakenField> taken_fields = fields;

std::vector<const TakenField*> fields_without_job(const Json& train_job_spec, const Json& job_set_spec,
                                                  const ActivePlugins& plugins) {
    std::vector<const TakenField*> found;
    const auto& jobs = job_set_spec["replicatedJobs"].items();
    for (const TakenField& field : fields) {
        if (!field.is_set(member_at(train_job_spec, field.path))) continue;
        const auto takes = [&](const Json& job) { return field.is_taken_by(job, plugins); };
        if (std::none_of(jobs.begin(), jobs.end(), takes)) found.push_back(&field);
    }
    return found;
}

}  // namespace runtime
