#include "build/steps.hpp"

#include <utility>

#include "api/names.hpp"
#include "build/pod_sets.hpp"
#include "runtime/plugin.hpp"
#include "template/edit.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

Json* pod_spec_in(Json& replicated_job) {
    Json* place = &replicated_job;
    for (const char* member : {"template", "spec", "template", "spec"})
        if (place) place = place->find(member);
    return place;
}

Json* node_in(Json& pod_spec) { return find_named(pod_spec.find("containers"), api::node_container); }

void add_claims_per_node(Json& job_set_spec, const Json& claims, const ActivePlugins& plugins) {
    Json* jobs = job_set_spec.find("replicatedJobs");
    if (claims.items().empty() || !jobs) return;
    Receivers receivers(plugins);
    for (Json& job : jobs->items()) {
        if (!receivers.include(job)) continue;
        Json* pod_spec = pod_spec_in(job);
        if (Json* node = pod_spec ? node_in(*pod_spec) : nullptr) {
            upsert_all_claims(*pod_spec, claims);
            add_missing_claims(*node, claims);
        }
    }
}

void replace(Json& container, std::string_view member, const Json& value) {
    if (!value.is_null()) container[member] = value;
}

}  // namespace

api::Result<Template> merged_template(const Json& runtime, const Json& train_job_spec,
                                      const ActivePlugins& plugins) {
    auto merged = patched_template(runtime, train_job_spec);
    if (!merged) return merged;
    add_claims_per_node(merged->spec, train_job_spec["trainer"]["resourceClaimsPerNode"], plugins);
    for (const Plugin* plugin : plugins) plugin->complete_template(runtime, plugins, merged->spec);
    return merged;
}

void add_trainer_env(const Info& info, Json& container) { upsert_all_env(container, info.trainer["env"]); }

void configure_trainer(Info& info) {
    for (const PodSet& pods : info.pod_sets) {
        Json* node = info.container(pods, api::node_container);
        if (!node) continue;
        const Json& image = info.trainer["image"];
        if (!image.empty() &&
            info.plugins.takes_image(std::as_const(info.spec)["replicatedJobs"][pods.index]))
            (*node)["image"] = image;
        if (pods.ancestor == api::ancestor_trainer) {
            replace(*node, "command", info.command.value_or(info.trainer["command"]));
            replace(*node, "args", info.args.value_or(info.trainer["args"]));
        }
        if (info.plugins.trains(pods)) add_trainer_env(info, *node);
    }
}

void write_counts(Info& info) {
    Json::Array& jobs = info.spec["replicatedJobs"].items();
    for (const PodSet& pods : info.pod_sets) {
        if (is_known_ancestor(pods.ancestor)) jobs[pods.index]["replicas"] = 1;
        Json& job_spec = info.job_template(pods)["spec"];
        job_spec["parallelism"] = pods.count;
        job_spec["completions"] = pods.count;
    }
}

}  // namespace runtime
