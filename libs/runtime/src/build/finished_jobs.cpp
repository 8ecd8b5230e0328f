#include "runtime/finished_jobs.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "api/claim_policy.hpp"
#include "api/hash.hpp"
#include "api/job_set.hpp"
#include "api/job_set_names.hpp"
#include "api/resource.hpp"
#include "build/finished_jobs.hpp"
#include "build/steps.hpp"
#include "template/replicated_jobs.hpp"
#include "template/shape.hpp"

namespace runtime {
namespace {

using api::Json;

bool has_succeeded(const api::TrainJob& job, const Json& replicated_job) {
    const std::string_view name = replicated_job["name"].as_string();
    return std::any_of(job.jobs_status.begin(), job.jobs_status.end(), [&](const api::JobStatus& entry) {
        return entry.name == name && entry.succeeded > 0 &&
               entry.succeeded >= replicated_job["replicas"].int_or(1);
    });
}

// JobSet would refuse such a name without its job.
bool is_named_elsewhere(const Json& job_set_spec, std::string_view job) {
    const auto& targets = job_set_spec["successPolicy"]["targetReplicatedJobs"].items();
    return job_set_spec["coordinator"]["replicatedJob"].as_string() == job ||
           std::any_of(targets.begin(), targets.end(),
                       [&](const Json& target) { return target.as_string() == job; });
}

// Whoever waits for it waits until it is complete; for one that only has to be ready, it serves.
bool is_waited_for_to_the_end(const Json& job_set_spec, std::string_view job) {
    const auto& jobs = job_set_spec["replicatedJobs"].items();
    return std::all_of(jobs.begin(), jobs.end(), [&](const Json& other) {
        const auto& dependencies = other["dependsOn"].items();
        return std::all_of(dependencies.begin(), dependencies.end(), [&](const Json& dependency) {
            return dependency["name"].as_string() != job || dependency["status"].as_string() == "Complete";
        });
    });
}

// Without it, what waits for it would not wait for these any more.
bool waits_only_for(const Json& replicated_job, const std::vector<std::string>& finished) {
    const auto& dependencies = replicated_job["dependsOn"].items();
    return std::all_of(dependencies.begin(), dependencies.end(), [&](const Json& dependency) {
        return std::find(finished.begin(), finished.end(), dependency["name"].as_string()) != finished.end();
    });
}

// What a Pod mounts.
enum class Storage {
    passing,  ///< goes with the Pod, or is only read
    kept,     ///< a claim that the TrainJob owns and that is old enough
    unknown
};

using Volumes = std::unordered_map<std::string_view, Storage, api::KeyedHash>;

Storage storage_of(const Json& volume) {
    constexpr const char* passing[] = {"emptyDir", "configMap", "secret", "downwardAPI", "projected"};
    const bool passes = std::any_of(std::begin(passing), std::end(passing),
                                    [&](const char* kind) { return volume.contains(kind); });
    return passes ? Storage::passing : Storage::unknown;
}

bool is_kept(const Inputs& inputs, std::string_view claim_template, api::Time restarts_since) {
    const api::ObjectMeta& job = inputs.job.meta;
    const Need need = {.resource = api::resources::volume_claims,
                       .key = {job.ns, api::job_set_names::claim(job.name, claim_template)}};
    const Json* found = find_observed(inputs.observed, need);
    if (!found) return false;
    const api::ObjectMeta claim = api::parse_meta(*found);
    return claim.controller_uid == job.uid && !claim.deletion && claim.creation < restarts_since;
}

// Returns the volumes that every Pod of the JobSet may mount, by the names of the templates of claims.
Volumes claims_of(const Inputs& inputs, const Json& job_set_spec, api::Time restarts_since) {
    Volumes claims;
    for (const Json& policy : job_set_spec["volumeClaimPolicies"].items())
        for (const Json& claim : policy["templates"].items()) {
            const std::string_view name = claim["metadata"]["name"].as_string();
            const bool kept = !api::retains_claims(policy) && is_kept(inputs, name, restarts_since);
            claims.emplace(name, kept ? Storage::kept : Storage::unknown);
        }
    return claims;
}

// Returns whether a Pod has written to claims that are still there, and to nothing else that stays.
bool keep_work_of(const Json& pod_spec, const Volumes& claims) {
    Volumes volumes = claims;
    for (const Json& volume : pod_spec["volumes"].items())
        volumes.insert_or_assign(volume["name"].as_string(), storage_of(volume));
    bool kept = false;
    for (const char* list : {"containers", "initContainers"})
        for (const Json& container : pod_spec[list].items())
            for (const Json& mount : container["volumeMounts"].items()) {
                if (mount["readOnly"].bool_or(false)) continue;
                const auto at = volumes.find(mount["name"].as_string());
                if (at == volumes.end() || at->second == Storage::unknown) return false;
                kept = kept || at->second == Storage::kept;
            }
    return kept;
}

}  // namespace

std::vector<std::string> finished_initializers(const Inputs& inputs, api::Time restarts_since,
                                               const Pipeline& pipeline) {
    // build() returns the error.
    if (!check_runtime_shape(inputs.runtime, pipeline) || !check_train_job_shape(inputs.job.spec)) return {};
    const ActivePlugins plugins(pipeline, inputs.runtime);
    const auto merged = merged_template(inputs.runtime, inputs.job.spec, plugins);
    if (!merged) return {};
    const Json& spec = merged->spec;
    const Volumes claims = claims_of(inputs, spec, restarts_since);
    std::vector<std::string> finished;
    for (const Json& job : spec["replicatedJobs"].items()) {
        if (finished.size() == api::most_finished_jobs) break;
        if (const std::string_view name = job["name"].as_string();
            is_initializer(ancestor_of(job)) && has_succeeded(inputs.job, job) &&
            !is_named_elsewhere(spec, name) && is_waited_for_to_the_end(spec, name) &&
            waits_only_for(job, finished) && keep_work_of(pod_spec_of(job), claims))
            finished.emplace_back(name);
    }
    return finished;
}

void leave_out(Json& job_set_spec, const std::vector<std::string>& jobs) {
    Json* all = job_set_spec.find("replicatedJobs");
    if (jobs.empty() || !all) return;
    const auto is_left_out = [&](const Json& item) {
        return std::find(jobs.begin(), jobs.end(), item["name"].as_string()) != jobs.end();
    };
    std::erase_if(all->items(), is_left_out);
    for (Json& job : all->items()) {
        Json* dependencies = job.find("dependsOn");
        if (!dependencies) continue;
        std::erase_if(dependencies->items(), is_left_out);
        if (dependencies->items().empty()) job.erase("dependsOn");
    }
}

}  // namespace runtime
