#include "api/names.hpp"
#include "build/pod_sets.hpp"
#include "build/steps.hpp"
#include "runtime/active_plugins.hpp"
#include "template/edit.hpp"

namespace runtime {
namespace {

using api::Json;

void replace(Json& container, std::string_view member, const Json& value) {
    if (!value.is_null()) container[member] = value;
}

}  // namespace

void add_trainer_env(const Info& info, Json& container) { upsert_all_env(container, info.trainer["env"]); }

void configure_trainer(Info& info) {
    for (const PodSet& pods : info.pod_sets) {
        Json* node = info.container(pods, api::node_container);
        if (!node) continue;
        if (pods.ancestor == api::ancestor_trainer) {
            if (const Json& image = info.trainer["image"]; !image.empty()) (*node)["image"] = image;
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
