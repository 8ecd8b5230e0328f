#include "runtime/live_defaults.hpp"

#include "runtime/compare.hpp"
#include "template/edit.hpp"
#include "template/open_fields.hpp"

namespace runtime {
namespace {

using api::Json;

// The fields of JobSet 0.12 with the rule "self == oldSelf". `replicatedJobs` may change in part, and is
// merged item by item.
constexpr const char* immutable_fields[] = {"failurePolicy", "network", "startupPolicy", "successPolicy",
                                            "volumeClaimPolicies"};

// Uses the stored value, but no member that is not sent: this controller would own it from then on. Lists in
// it are atomic.
Json filled_in(const Json& field, const Json& stored) {
    if (!field.is_object() || !stored.is_object()) return stored;
    Json::Object::Members filled;
    for (const auto& [key, value] : field.members())
        if (const Json* there = stored.find(key)) filled.push_back({key, filled_in(value, *there)});
    return Json(Json::Object(std::move(filled)));
}

// Returns the path of the first difference. `path` is the one of `wanted`, which `live` does not contain.
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
        if (field && stored && is_contained(*field, *stored)) *field = filled_in(*field, *stored);
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
    if (Json* jobs = spec.find("replicatedJobs"))
        for (Json& job : jobs->items()) erase_open_fields(job);
    return spec;
}

std::string changed_fixed_field(const Json& wanted, const Json& live) {
    const Json now = fixed_part(wanted["spec"]), then = fixed_part(live["spec"]);
    return is_contained(now, then) ? std::string() : first_difference(now, then, "spec");
}

}  // namespace runtime
