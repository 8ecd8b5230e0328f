#include "runtime/live_defaults.hpp"

#include "edit.hpp"
#include "runtime/compare.hpp"

namespace runtime {
namespace {

using api::Json;

// Of JobSet 0.12: those with the rule "self == oldSelf". `replicatedJobs` may change in part, and is merged
// item by item.
constexpr const char* immutable_fields[] = {"failurePolicy", "network", "startupPolicy", "successPolicy",
                                            "volumeClaimPolicies"};

// What may change while it is suspended, of a Pod template (JobSet's webhook).
constexpr std::string_view open_metadata[] = {"labels", "annotations"};
constexpr std::string_view open_spec[] = {"nodeSelector", "tolerations", "schedulingGates"};

Json* pod_template(Json& replicated_job) {
    Json* found = &replicated_job;
    for (const char* name : {"template", "spec", "template"})
        if (found = found->find(name); !found) return nullptr;
    return found;
}

void take(Json& into, std::string_view member, const Json& from) {
    if (const Json* value = from.find(member))
        into[member] = *value;
    else
        into.erase(member);
}

void take_open_fields(Json& job, const Json& from) {
    const Json& wanted = from["template"]["spec"]["template"];
    Json& pod = job["template"]["spec"]["template"];
    for (const std::string_view name : open_metadata)
        if (wanted["metadata"].contains(name) || std::as_const(pod)["metadata"].contains(name))
            take(pod["metadata"], name, wanted["metadata"]);
    for (const std::string_view name : open_spec) take(pod["spec"], name, wanted["spec"]);
}

// Beneath `path`, of which `wanted` is not contained in `live`.
std::string first_difference(const Json& wanted, const Json& live, std::string path) {
    if (wanted.is_object() && live.is_object())
        for (const auto& [key, value] : wanted.members())
            if (!is_contained(value, live[key])) return first_difference(value, live[key], path + "." + key);
    if (wanted.is_array() && live.is_array() && wanted.items().size() == live.items().size())
        for (std::size_t i = 0; i < wanted.items().size(); ++i)
            if (!is_contained(wanted[i], live[i]))
                return first_difference(wanted[i], live[i], path + "[" + std::to_string(i) + "]");
    return path;
}

}  // namespace

Json with_live_defaults(Json wanted, const Json& live) {
    Json* spec = wanted.find("spec");
    for (const char* name : immutable_fields) {
        Json* field = spec ? spec->find(name) : nullptr;
        const Json* stored = live["spec"].find(name);
        if (field && stored && is_contained(*field, *stored)) *field = *stored;
    }
    return wanted;
}

Json with_live_template(const Json& wanted, const Json& live) {
    Json merged = wanted;
    merged["spec"] = live["spec"];
    take(merged["spec"], "suspend", wanted["spec"]);
    api::NamedItems wanted_jobs;
    if (Json* jobs = merged["spec"].find("replicatedJobs"))
        for (Json& job : jobs->items())
            if (const Json* same = wanted_jobs.find(wanted["spec"]["replicatedJobs"],
                                                    std::as_const(job)["name"].as_string()))
                take_open_fields(job, *same);
    return merged;
}

Json fixed_part(const Json& job_set_spec) {
    Json spec = job_set_spec;
    spec.erase("suspend");
    Json* jobs = spec.find("replicatedJobs");
    if (!jobs) return spec;
    for (Json& job : jobs->items()) {
        Json* pod = pod_template(job);
        if (!pod) continue;
        if (Json* metadata = pod->find("metadata")) {
            for (const std::string_view name : open_metadata) metadata->erase(name);
            if (metadata->empty()) pod->erase("metadata");
        }
        if (Json* pod_spec = pod->find("spec"))
            for (const std::string_view name : open_spec) pod_spec->erase(name);
    }
    return spec;
}

std::string changed_fixed_field(const Json& wanted, const Json& live) {
    const Json now = fixed_part(wanted["spec"]), then = fixed_part(live["spec"]);
    return is_contained(now, then) ? std::string() : first_difference(now, then, "spec");
}

}  // namespace runtime
