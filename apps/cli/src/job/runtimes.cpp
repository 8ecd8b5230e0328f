#include "job/runtimes.hpp"

#include <algorithm>
#include <string_view>

#include "api/names.hpp"
#include "api/quantity.hpp"
#include "api/text.hpp"

namespace cli {
namespace {

using api::Json;

const Json& item_named(const Json& list, std::string_view name) {
    static const Json none;
    for (const Json& item : list.items())
        if (item["name"].as_string() == name) return item;
    return none;
}

// Returns the job "node" if the trainer is a launcher beside it, or else the one that trains.
const Json& training_job(const Json& jobs) {
    const Json& node = item_named(jobs, api::node_container);
    if (!node.is_null()) return node;
    for (const Json& job : jobs.items())
        if (job["template"]["metadata"]["labels"][api::ancestor_label].as_string() == api::ancestor_trainer)
            return job;
    return node;
}

}  // namespace

RuntimeFacts runtime_facts(const Json& runtime) {
    const Json& spec = runtime["spec"];
    const Json& pod =
        training_job(spec["template"]["spec"]["replicatedJobs"])["template"]["spec"]["template"]["spec"];
    return {.nodes = spec["mlPolicy"]["numNodes"].int_or(1),
            .policy = api::run_policy_of(runtime),
            .resources = item_named(pod["containers"], api::node_container)["resources"]};
}

const RuntimeFacts* find_runtime(const Runtimes& runtimes, const api::TrainJob& job) {
    const bool namespaced = job.runtime_ref.kind == api::training_runtime_kind;
    const auto at = runtimes.find({namespaced ? job.meta.ns : std::string(), job.runtime_ref.name});
    return at == runtimes.end() ? nullptr : &at->second;
}

std::int64_t gpus_per_node(const Json& of_runtime, const Json& per_node) {
    std::map<std::string, std::int64_t> counts;
    for (const Json* resources : {&of_runtime, &per_node})
        for (const char* kind : {"limits", "requests"})
            for (const auto& [name, quantity] : (*resources)[kind].members()) {
                const auto parsed = api::parse_quantity(quantity);
                const std::string key = api::to_lower(name);
                if (parsed && key.find("gpu") != std::string::npos)
                    counts[key] = std::max<std::int64_t>(parsed->round_up(), 0);
            }
    std::int64_t devices = 0;
    for (const auto& [name, count] : counts)
        if (name.ends_with("/gpu")) devices += count;
    return devices > 0 || counts.empty() ? devices : counts.begin()->second;
}

}  // namespace cli
