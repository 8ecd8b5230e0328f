#include "api/names.hpp"
#include "build/steps.hpp"
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

}  // namespace

api::Result<Template> merged_template(const Json& runtime, const Json& train_job_spec,
                                      const ActivePlugins& plugins) {
    auto merged = patched_template(runtime, train_job_spec);
    const Json& claims = train_job_spec["trainer"]["resourceClaimsPerNode"];
    if (!merged || claims.items().empty()) return merged;
    Json* jobs = merged->spec.find("replicatedJobs");
    if (!jobs) return merged;
    Receivers receivers(plugins);
    for (Json& job : jobs->items()) {
        if (!receivers.include(job)) continue;
        Json* pod_spec = pod_spec_in(job);
        if (Json* node = pod_spec ? node_in(*pod_spec) : nullptr) {
            upsert_all_claims(*pod_spec, claims);
            add_missing_claims(*node, claims);
        }
    }
    return merged;
}

}  // namespace runtime
