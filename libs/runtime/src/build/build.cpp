#include "runtime/build.hpp"

#include <algorithm>

#include "api/json.hpp"
#include "api/names.hpp"
#include "build/failure_rules.hpp"
#include "build/finished_jobs.hpp"
#include "build/number_rules.hpp"
#include "build/pod_sets.hpp"
#include "build/steps.hpp"
#include "build/taken_fields.hpp"
#include "build/template_rules.hpp"
#include "build/trainer_errors.hpp"
#include "resources/claims.hpp"
#include "resources/resources.hpp"
#include "runtime/plugin.hpp"
#include "template/edit.hpp"
#include "template/forbidden_fields.hpp"
#include "template/replicated_jobs.hpp"
#include "template/shape.hpp"
#include "template/template.hpp"

namespace runtime {
namespace {

using api::Json;

// Rules of admission without which broken or dangerous objects would be built.
api::Result<> check(const Inputs& inputs, const Pipeline& pipeline, const ActivePlugins& plugins) {
    // The snapshot of such a runtime could not be read again.
    if (const std::size_t values = api::count_tree_values(inputs.runtime); values > max_runtime_values)
        return api::invalid("spec.runtimeRef", "the runtime " + too_large_text(values));
    if (auto shape = check_runtime_shape(inputs.runtime, pipeline); !shape) return shape;
    if (auto shape = check_train_job_shape(inputs.job.spec); !shape) return shape;
    const Json& trainer = inputs.job.spec["trainer"];
    for (const api::FieldErrors& errors :
         {validate_template(inputs.runtime, plugins),
          check_patches(inputs.runtime, inputs.job.spec, plugins, PatchCheck::build),
          number_errors_of_trainer(trainer), number_errors_of_runtime(inputs.runtime, plugins, trainer),
          image_errors(inputs.runtime, inputs.job, plugins),
          unusable_resources(inputs.runtime, inputs.job, plugins),
          limit_errors(inputs.runtime, inputs.job, plugins),
          job_failure_policy_errors(inputs.runtime, inputs.job)})
        if (!errors.empty()) return to_error(errors.front());
    return {};
}

// Returns the number of nodes that have one of these claims.
std::int64_t sharing_pods(const Info& info, const std::vector<std::string_view>& claims) {
    std::int64_t sharing = 0;
    for (const PodSet& pods : info.pod_sets) {
        const Json& job = info.spec["replicatedJobs"][pods.index];
        const Json& of_pod = pod_spec_of(job)["resourceClaims"];
        if (info.plugins.has_nodes(job) &&
            std::any_of(claims.begin(), claims.end(), [&](auto name) { return find_named(of_pod, name); }))
            sharing = with_pods(sharing, pods.replicas, std::max<std::int64_t>(0, pods.count));
    }
    return sharing;
}

// Writes `resourcesPerNode` into the containers that get it, and computes the resources that the number of
// processes depends on.
api::Result<> settle_resources(const Inputs& inputs, Info& info) {
    const Json& per_node = info.trainer["resourcesPerNode"];
    auto counted = counted_resources(info.spec, per_node);
    if (!counted) return counted.error();
    counted->shared_claims = info.plugins.shared_claims();
    counted->sharing_pods = sharing_pods(info, counted->shared_claims);
    info.devices = count_devices(*counted, inputs.job.meta.ns, info.plugins.devices(), inputs.observed);
    info.resources = std::move(counted->resources);
    for (const PodSet& pods : info.pod_sets) {
        Json* node = info.container(pods, api::node_container);
        const Json& job = std::as_const(info.spec)["replicatedJobs"][pods.index];
        if (!node || !info.plugins.gets_resources_per_node(job)) continue;
        if (const auto errors = claim_errors_of_trainer(job, per_node); !errors.empty())
            return to_error(errors.front());
        auto merged = merged_resources(std::as_const(*node)["resources"], per_node);
        if (!merged) return merged.error();
        if (!merged->empty()) (*node)["resources"] = std::move(*merged);
    }
    // A container that refers to a missing claim would never get a Pod.
    auto errors = validate_claims(info.spec);
    if (errors.empty()) return {};
    const ClaimPlaces places(inputs.job.spec["runtimePatches"]);
    if (auto place = places.find(errors.front().value.as_string()); !place.empty())
        errors.front().field = std::move(place);
    return to_error(errors.front());
}

void note_forbidden_fields(const Inputs& inputs, Built& built) {
    std::string paths;
    for (const TemplateField& field : forbidden_fields(inputs.runtime["spec"]["template"]["spec"]))
        paths += (paths.empty() ? "" : ", ") + field.path;
    if (!paths.empty())
        built.warnings.push_back(
            {"RuntimeFieldIgnored", inputs.job.runtime_ref.kind + " \"" + inputs.job.runtime_ref.name +
                                        "\" has a deadline or TTL that is ignored: " + paths});
}

// Admission denies most of these TrainJobs, or warns.
void note_fields_without_job(const std::vector<const TakenField*>& fields, Built& built) {
    if (fields.empty()) return;
    std::string paths;
    for (const TakenField* field : fields)
        paths += (paths.empty() ? "spec." : ", spec.") + std::string(field->path);
    built.warnings.push_back({"TrainJobFieldIgnored", "no job of the runtime takes " + paths});
}

api::Result<> enforce(const Inputs& inputs, Info& info) {
    using Hook = api::Result<> (Plugin::*)(const Inputs&, Info&) const;
    constexpr Hook hooks[] = {&Plugin::enforce_ml_policy, &Plugin::enforce_pod_group_policy,
                              &Plugin::enforce_pod_spec};
    for (const Hook hook : hooks)
        for (const Plugin* plugin : info.plugins)
            if (auto done = (*plugin.*hook)(inputs, info); !done) return done;
    return {};
}

// Sets the parts of every object: its namespace, and the TrainJob as its owner.
void adopt(const api::TrainJob& job, Json& object) {
    Json& metadata = object["metadata"];
    metadata["namespace"] = job.meta.ns;
    metadata["ownerReferences"] = Json::array({api::controller_reference(job.meta)});
}

}  // namespace

// An input that cannot be built has no needs; build() returns the error.
Needs needs(const api::TrainJob& job, const Json& runtime, const std::vector<Json>& observed,
            const Pipeline& pipeline) {
    Needs all;
    if (!check_runtime_shape(runtime, pipeline) || !check_train_job_shape(job.spec)) return all;
    const ActivePlugins plugins(pipeline, runtime);
    const auto merged = merged_template(runtime, job.spec, plugins);
    if (!merged) return all;
    const NeedsContext context = {
        .job = job, .runtime = runtime, .merged_spec = merged->spec, .observed = observed};
    if (plugins.counts_devices())
        if (const auto counted = counted_resources(merged->spec, job.spec["trainer"]["resourcesPerNode"]))
            add_claim_needs(*counted, job.meta.ns, pipeline.devices, observed, all);
    for (const Plugin* plugin : plugins) plugin->add_needs(context, all);
    return all;
}

const Json* find_observed(const std::vector<Json>& observed, const Need& need) {
    const auto at = std::find_if(observed.begin(), observed.end(), [&need](const Json& object) {
        return is_of(need.resource, object) && api::parse_meta(object).key() == need.key;
    });
    return at == observed.end() ? nullptr : &*at;
}

bool pods_wait_for_others(const Json& job_set, const Pipeline& pipeline) {
    return std::any_of(pipeline.begin(), pipeline.end(),
                       [&](const auto& plugin) { return plugin->pods_wait_for_owned(job_set); });
}

api::Result<Built> build(const Inputs& inputs, const Pipeline& pipeline) {
    const ActivePlugins plugins(pipeline, inputs.runtime);
    if (const auto checked = check(inputs, pipeline, plugins); !checked) return checked.error();
    auto patched = merged_template(inputs.runtime, inputs.job.spec, plugins);
    if (!patched) return patched.error();

    const auto ignored = fields_without_job(inputs.job.spec, patched->spec, plugins);
    leave_out(patched->spec, inputs.finished_jobs);
    const Json& runtime_spec = inputs.runtime["spec"];
    Info info = {.job = inputs.job,
                 .ml_policy = runtime_spec["mlPolicy"],
                 .pod_group_policy = runtime_spec["podGroupPolicy"],
                 .trainer = inputs.job.spec["trainer"],
                 .plugins = plugins,
                 .spec = std::move(patched->spec),
                 .labels = std::move(patched->labels),
                 .annotations = std::move(patched->annotations)};
    info.pod_sets = count_pods(info.spec, plugins, info.num_nodes());
    for (PodSet& pods : info.pod_sets)
        if (const auto found = inputs.done.find(pods.name); found != inputs.done.end())
            pods.done = found->second;
    if (const auto settled = settle_resources(inputs, info); !settled) return settled.error();
    if (const auto enforced = enforce(inputs, info); !enforced) return enforced.error();
    configure_trainer(info);
    write_counts(info);

    Built built;
    note_forbidden_fields(inputs, built);
    note_fields_without_job(ignored, built);
    for (const Plugin* plugin : plugins)
        if (const auto done = plugin->build(inputs, info, built); !done) return done.error();
    for (BuildWarning& notice : info.warnings) built.warnings.push_back(std::move(notice));
    for (BuiltObject& each : built.objects) adopt(inputs.job, each.object);
    return built;
}

}  // namespace runtime
