#include "admission.hpp"

#include <algorithm>

#include "api/meta.hpp"
#include "merge/json_patch.hpp"
#include "runtime/validation.hpp"

namespace model {
namespace {

using api::Json;

bool suspends(const Json& job_set) { return job_set["spec"]["suspend"].bool_or(false); }

// Returns the replicated jobs without the fields that may change in a suspended JobSet.
Json without_mutable_fields(const Json& job_set) {
    Json jobs = job_set["spec"]["replicatedJobs"];
    if (!jobs.is_array()) return jobs;
    for (Json& job : jobs.items()) {
        Json* spec = job.find("template") ? job.find("template")->find("spec") : nullptr;
        Json* pod = spec ? spec->find("template") : nullptr;
        if (!pod) continue;
        if (Json* metadata = pod->find("metadata")) {
            metadata->erase("labels");
            metadata->erase("annotations");
            if (metadata->empty()) pod->erase("metadata");
        }
        if (Json* pod_spec = pod->find("spec"))
            for (const char* name : {"nodeSelector", "tolerations", "schedulingGates"}) pod_spec->erase(name);
    }
    return jobs;
}

std::optional<Reply> admit_job_set(const Json& before, const Json& after) {
    const std::string name(after["metadata"]["name"].as_string());
    for (const char* field :
         {"network", "successPolicy", "failurePolicy", "startupPolicy", "volumeClaimPolicies"})
        if (before["spec"][field] != after["spec"][field])
            return failure(422, "Invalid",
                           "JobSet.jobset.x-k8s.io \"" + name + "\" is invalid: spec." + field +
                               ": Invalid value: \"object\": Value is immutable");
    const bool open = suspends(before) || suspends(after);
    const bool same = open ? without_mutable_fields(before) == without_mutable_fields(after)
                           : before["spec"]["replicatedJobs"] == after["spec"]["replicatedJobs"];
    if (same) return std::nullopt;
    return failure(422, "Invalid",
                   "admission webhook \"vjobset.kb.io\" denied the request: JobSet.jobset.x-k8s.io \"" +
                       name + "\" is invalid: spec.replicatedJobs: Invalid value: []: field is immutable");
}

bool gains_finalizer(const Json& before, const Json& after) {
    const auto& there = before["metadata"]["finalizers"].items();
    const auto& wanted = after["metadata"]["finalizers"].items();
    return std::any_of(wanted.begin(), wanted.end(), [&](const Json& name) {
        return std::find(there.begin(), there.end(), name) == there.end();
    });
}

void fill(Json& object, const char* name, Json value) {
    if (!object.contains(name)) object[name] = std::move(value);
}

}  // namespace

void default_by_schema(const Kind& kind, Json& object) {
    if (kind.kind == "PersistentVolumeClaim") fill(object["spec"], "volumeMode", "Filesystem");
    if (kind.kind != "JobSet") return;
    if (Json* jobs = object["spec"].find("replicatedJobs"))
        for (Json& job : jobs->items()) {
            fill(job, "replicas", 1);
            fill(job, "groupName", "default");
        }
    if (Json* policies = object["spec"].find("volumeClaimPolicies"))
        for (Json& policy : policies->items()) {
            fill(policy, "retentionPolicy", Json::object());
            fill(policy["retentionPolicy"], "whenDeleted", "Delete");
        }
}

void default_by_webhook(const Kind& kind, Json& object) {
    if (kind.kind != "JobSet") return;
    Json& spec = object["spec"];
    fill(spec, "network", Json::object());
    fill(spec["network"], "enableDNSHostnames", true);
    fill(spec["network"], "publishNotReadyAddresses", true);
    fill(spec, "successPolicy", Json::object());
    fill(spec["successPolicy"], "operator", "All");
    fill(spec, "startupPolicy", Json::object());
    fill(spec["startupPolicy"], "startupPolicyOrder", "AnyOrder");
    if (Json* jobs = spec.find("replicatedJobs"))
        for (Json& job : jobs->items()) {
            fill(job["template"]["spec"], "completionMode", "Indexed");
            fill(job["template"]["spec"]["template"]["spec"], "restartPolicy", "OnFailure");
        }
    Json* failure_policy = spec.find("failurePolicy");
    Json* rules = failure_policy ? failure_policy->find("rules") : nullptr;
    for (std::size_t i = 0; rules && i < rules->items().size(); ++i)
        if (Json& rule = rules->items()[i]; std::as_const(rule)["name"].as_string().empty())
            rule["name"] = "failurePolicyRule" + std::to_string(i);
}

std::optional<Reply> admit_claims(const ApiModel& api, const Json& job_set) {
    const api::ObjectMeta meta = api::parse_meta(job_set);
    for (const Json& policy : job_set["spec"]["volumeClaimPolicies"].items())
        for (const Json& each : policy["templates"].items()) {
            const std::string name = std::string(each["metadata"]["name"].as_string()) + "-" + meta.name;
            const Stored* claim = api.find("persistentvolumeclaims", {meta.ns, name});
            if (!claim) continue;
            const std::string denied =
                "admission webhook \"vjobset.kb.io\" denied the request: JobSet.jobset.x-k8s.io \"" +
                meta.name + "\" is invalid: spec.volumeClaimPolicies[0].";
            if (claim->object["spec"] != each["spec"])
                return failure(422, "Invalid",
                               denied +
                                   "template[0].spec: Invalid value: {}: spec does not match existing PVC " +
                                   name + " in namespace " + meta.ns);
            if (policy["retentionPolicy"]["whenDeleted"].as_string() != "Retain")
                return failure(422, "Invalid",
                               denied +
                                   "retentionPolicy.whenDeleted: Invalid value: \"Delete\": "
                                   "retentionPolicy must be retain when PVC exists");
        }
    return std::nullopt;
}

void restore_for_kueue(const Kind& kind, const Json& before, Json& after, api::Time now) {
    if (kind.kind != "TrainJob") return;
    const auto operations = runtime::default_train_job(after, before, now, {.is_lossy = true}).operations;
    merge::apply_operations(operations, after).value();
}

namespace {

Reply refused_edit(const Json& train_job, const std::string& why) {
    return failure(422, "Invalid",
                   "TrainJob.trainer.kubeflow.org \"" +
                       std::string(train_job["metadata"]["name"].as_string()) + "\" is invalid: " + why);
}

// Errors of the schema's rule for another number of nodes, which the webhook does not repeat.
bool is_active_by_status(const Json& before) {
    const auto& jobs = before["status"]["jobsStatus"].items();
    return std::any_of(jobs.begin(), jobs.end(), [](const Json& job) { return job["active"].int_or(0) > 0; });
}

}  // namespace

std::optional<Reply> admit_edit(const ApiModel& api, const Json& before, const Json& after) {
    if (before["spec"]["trainer"]["numNodes"] != after["spec"]["trainer"]["numNodes"] &&
        is_active_by_status(before))
        return refused_edit(after, "spec.trainer.numNodes: Invalid value: cannot be changed");
    const Stored* stored = api.find("jobsets.jobset.x-k8s.io", api::parse_meta(after).key());
    const api::JobSet job_set = stored ? api::parse_job_set(stored->object) : api::JobSet();
    const auto findings = runtime::validate_train_job({.object = after,
                                                       .old_object = before,
                                                       .job_set = stored ? &job_set : nullptr,
                                                       .gates = runtime::Gates::all()});
    for (const api::FieldError& error : findings.errors)
        if (error.rule == "immutable_after_creation" || error.rule == "resize_while_active")
            return refused_edit(after, error.field + ": " + api::body(error));
    return std::nullopt;
}

std::optional<Reply> admit(const Kind& kind, const Json& before, const Json& after) {
    const auto& owners = after["metadata"]["ownerReferences"].items();
    if (std::count_if(owners.begin(), owners.end(),
                      [](const Json& o) { return o["controller"].bool_or(false); }) > 1)
        return failure(422, "Invalid",
                       std::string(kind.kind) +
                           " is invalid: metadata.ownerReferences: Invalid value: []: Only one "
                           "reference can have Controller set to true");
    if (before.is_null()) return std::nullopt;
    if (before["metadata"].contains("deletionTimestamp") && gains_finalizer(before, after))
        return failure(422, "Invalid",
                       std::string(kind.kind) +
                           " is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if "
                           "the object is being deleted");
    if (kind.kind == "JobSet") return admit_job_set(before, after);
    const bool may_be_immutable = kind.kind == "ConfigMap" || kind.kind == "Secret";
    if (may_be_immutable && before["immutable"].bool_or(false) && before["data"] != after["data"])
        return failure(422, "Invalid",
                       std::string(kind.kind) + " \"" + std::string(after["metadata"]["name"].as_string()) +
                           "\" is invalid: data: Forbidden: field is immutable when `immutable` is set");
    return std::nullopt;
}

}  // namespace model
