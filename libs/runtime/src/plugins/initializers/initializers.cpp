#include <algorithm>
#include <span>

#include "api/names.hpp"
#include "api/text.hpp"
#include "build/taken_fields.hpp"
#include "runtime/plugin.hpp"
#include "template/edit.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr api::RuleId admission_rules[] = {api::RuleId("dataset_initializer"),
                                           api::RuleId("model_initializer")};
constexpr api::RuleId admission_warnings[] = {api::RuleId("storage_uri")};

struct Step {
    std::string_view ancestor;  // also the name of its container, and of Kubeflow's image for it
    std::string_view member;    // of spec.initializer
    api::RuleId rule;
    std::span<const std::string_view> schemes;  // that Kubeflow's image knows
};

// The initializers of Kubeflow Trainer 2.3.
constexpr std::string_view dataset_schemes[] = {"hf", "s3", "cache"};
constexpr std::string_view model_schemes[] = {"hf", "s3"};

constexpr Step steps[] = {{api::ancestor_dataset_initializer, "dataset", admission_rules[0], dataset_schemes},
                          {api::ancestor_model_initializer, "model", admission_rules[1], model_schemes}};

constexpr std::string_view uri_variable = "STORAGE_URI";

// The API server's limit for one object. (etcd accepts requests of 1.5 MiB.)
constexpr std::size_t most_bytes = 1'500'000;

void configure(Json& container, const Json& initializer) {
    // An empty URI is sent too: it overrides the runtime's, but no variable of the TrainJob.
    const Json& uri = initializer["storageUri"];
    const auto set_uri = [&] {
        upsert_env(container, env_value(uri_variable, std::string(uri.as_string())));
    };
    if (uri.is_string()) set_uri();
    upsert_all_env(container, initializer["env"]);
    if (!uri.empty()) set_uri();
    // The CRD's default is an empty name.
    if (const Json& secret = initializer["secretRef"]; !secret["name"].as_string().empty())
        container["envFrom"].push_back(Json::object({{"secretRef", secret}}));
}

constexpr std::string_view volume = "initializer";

bool mounts_volume(const Json* container) {
    if (!container) return false;
    for (const Json& mount : (*container)["volumeMounts"].items())
        if (mount["name"].as_string() == volume) return true;
    return false;
}

// Returns the missing part of the initializer `name`, which is also the name of its job and container; empty
// if there is none.
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

// Returns whether the TrainJob sets a field of `spec.initializer.<member>` that no job takes, although there
// is one of the initializer's name: what takes it is known by its label.
bool is_dropped(std::string_view member, const ValidationInputs& review) {
    const std::string prefix = "initializer." + std::string(member) + ".";
    const auto dropped = fields_without_job(review.job.spec, review.merged_spec, review.plugins);
    return std::any_of(dropped.begin(), dropped.end(),
                       [&](const TakenField* field) { return field->path.starts_with(prefix); });
}

// Returns whether an image is Kubeflow's for this step, from whatever registry.
bool is_kubeflows(std::string_view image, std::string_view name) {
    image.remove_prefix(image.rfind('/') + 1);
    return image.substr(0, image.find_first_of(":@")) == name;
}

// `field`: the one of the initializer that has the URI. The images take schemes in any case.
void warn_of_scheme(const Step& step, const Json& container, std::string_view field, std::string_view uri,
                    api::Warnings& warnings) {
    const auto end = uri.find("://");
    const std::string scheme = end == uri.npos ? std::string() : api::to_lower(uri.substr(0, end));
    if (uri.empty() || !is_kubeflows(container["image"].as_string(), step.ancestor)) return;
    if (std::find(step.schemes.begin(), step.schemes.end(), scheme) != step.schemes.end()) return;
    std::string known;
    for (const std::string_view each : step.schemes)
        known.append(known.empty() ? "" : ", ").append(each) += "://";
    warnings.push_back("spec.initializer." + std::string(step.member) + std::string(field) +
                       ": the initializer knows " + known + " and not " +
                       (end == uri.npos ? shortened(uri) : shortened(scheme) + "://"));
}

// Writes `spec.initializer` (URIs, environment and credentials) into the jobs with its label. Runs after the
// frameworks, so that the user's settings take precedence.
class Initializers final : public Plugin {
public:
    std::string_view name() const override { return "initializers"; }

    std::span<const api::RuleId> rules() const override { return admission_rules; }

    void validate(const ValidationInputs& review, api::FieldErrors& errors) const override {
        if (review.merged_spec.is_null()) return;
        for (const auto& [ancestor, member, rule, schemes] : steps) {
            if (!review.job.spec["initializer"][member].is_object()) continue;
            std::string missing = missing_for(ancestor, review.merged_spec);
            if (missing.empty() && review.is_new && is_dropped(member, review))
                missing = "label " + std::string(api::ancestor_label) + ": " + std::string(ancestor) +
                          " on its job \"" + std::string(ancestor) + "\"";
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

    std::span<const api::RuleId> warning_rules() const override { return admission_warnings; }
    void add_warnings(const ValidationInputs& review, api::Warnings& warnings) const override {
        for (const Step& step : steps) {
            const Json& initializer = review.job.spec["initializer"][step.member];
            const auto uri = initializer["storageUri"].as_string();
            const Json* const variable = find_named(initializer["env"], uri_variable);
            if (!uri.empty() && variable)
                warnings.push_back("spec.initializer." + std::string(step.member) +
                                   ".env: " + std::string(uri_variable) + " has no effect beside storageUri");
            const bool by_variable = uri.empty() && variable;
            const auto place = by_variable ? (*variable)["value"].as_string() : uri;
            const char* const field = by_variable ? ".env: STORAGE_URI" : ".storageUri";
            for (const Json& job : review.merged_spec["replicatedJobs"].items())
                if (ancestor_of(job) == step.ancestor)
                    if (const Json* container = find_named(pod_spec_of(job)["containers"], step.ancestor))
                        warn_of_scheme(step, *container, field, place, warnings);
        }
    }

    api::Result<> enforce_pod_spec(const Inputs&, Info& info) const override {
        for (const auto& [ancestor, member, rule, schemes] : steps) {
            const Json& initializer = info.job.spec["initializer"][member];
            if (!initializer.is_object()) continue;
            const auto copies = static_cast<std::size_t>(
                std::count_if(info.pod_sets.begin(), info.pod_sets.end(),
                              [wanted = ancestor](const PodSet& pods) { return pods.ancestor == wanted; }));
            // Thousands of jobs with a large environment each would be gigabytes.
            if (copies > 1 && to_json(initializer).size() > most_bytes / copies)
                return api::invalid("spec.initializer." + std::string(member),
                                    "is too large to be given to " + std::to_string(copies) +
                                        " jobs of the runtime: no API server would store the JobSet");
            for (const PodSet& pods : info.pod_sets)
                if (pods.ancestor == ancestor)
                    if (Json* container = info.container(pods, ancestor)) configure(*container, initializer);
        }
        return {};
    }
};

}  // namespace

std::unique_ptr<Plugin> make_initializers() { return std::make_unique<Initializers>(); }

}  // namespace runtime
