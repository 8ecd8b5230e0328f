#include "lifecycle/recreate.hpp"

#include <algorithm>

#include "api/meta.hpp"
#include "lifecycle/refusal.hpp"
#include "ownership.hpp"

namespace lifecycle {
namespace {

void add_withdrawn_keys(const api::Json& live, const api::Json& wanted, const Ownership& ours,
                        const std::string& path, std::vector<std::string>& found) {
    for (const auto& [key, value] : live.members())
        if (!wanted.contains(key) && ours.has_member(key)) found.push_back(path + "[" + key + "]");
}

void add_withdrawn_items(const api::Json& live, const api::Json& wanted, const Ownership& ours,
                         const std::string& path, std::vector<std::string>& found) {
    const auto& kept = wanted.items();
    for (std::size_t i = 0; i < live.items().size(); ++i)
        if (std::find(kept.begin(), kept.end(), live[i]) == kept.end() &&
            ours.has_item(live[i]["name"].as_string()))
            found.push_back(path + "[" + std::to_string(i) + "]");
}

const api::Json* find_named(const api::Json& list, std::string_view name) {
    const auto& items = list.items();
    const auto at = std::find_if(items.begin(), items.end(),
                                 [&](const api::Json& item) { return item["name"].as_string() == name; });
    return at == items.end() ? nullptr : &*at;
}

const api::Json& pod_template(const api::Json& replicated_job) {
    return replicated_job["template"]["spec"]["template"];
}

}  // namespace

Recreation recreation(const SuspendedChange& change) {
    if (!change.refused && !change.withdraws) return Recreation::needless;
    // It does not help to wait: the verdict will be the same.
    if (change.has_run && change.deletes_claims) return Recreation::forbidden;
    return change.any_active ? Recreation::wait : Recreation::recreate;
}

// Of JobSet's webhook and of the CEL rules of its CRD, in this order.
bool refuses_immutable_field(const api::Error& error) {
    return refuses_object(error) && (error.message.find("field is immutable") != std::string::npos ||
                                     error.message.find("Value is immutable") != std::string::npos);
}

bool may_have_run(const api::Json& live) {
    if (!live["spec"]["suspend"].bool_or(false)) return true;
    // It counts the changes of a spec, and nobody can write it.
    if (api::parse_meta(live).generation == 1) return false;
    return !only_our_applies_set(live, "suspend");
}

std::vector<std::string> withdrawn_fields(const api::Json& live, const api::Json& wanted) {
    std::vector<std::string> found;
    const Ownership jobs_of_ours = applied_by_us(live).member("spec").member("replicatedJobs");
    const api::Json& live_jobs = live["spec"]["replicatedJobs"];
    for (std::size_t i = 0; i < live_jobs.items().size(); ++i) {
        // One that is missing altogether is refused by the API server.
        const std::string_view job_name = live_jobs[i]["name"].as_string();
        const api::Json* job = find_named(wanted["spec"]["replicatedJobs"], job_name);
        if (!job) continue;
        const api::Json& before = pod_template(live_jobs[i]);
        const api::Json& after = pod_template(*job);
        const std::string path = "spec.replicatedJobs[" + std::to_string(i) + "].template.spec.template.";
        const Ownership ours =
            jobs_of_ours.item(job_name).member("template").member("spec").member("template");
        for (const char* name : {"labels", "annotations"})
            add_withdrawn_keys(before["metadata"][name], after["metadata"][name],
                               ours.member("metadata").member(name), path + "metadata." + name, found);
        const Ownership of_pod = ours.member("spec");
        add_withdrawn_keys(before["spec"]["nodeSelector"], after["spec"]["nodeSelector"],
                           of_pod.member("nodeSelector").of_atomic(), path + "spec.nodeSelector", found);
        add_withdrawn_items(before["spec"]["tolerations"], after["spec"]["tolerations"],
                            of_pod.member("tolerations").of_atomic(), path + "spec.tolerations", found);
        add_withdrawn_items(before["spec"]["schedulingGates"], after["spec"]["schedulingGates"],
                            of_pod.member("schedulingGates"), path + "spec.schedulingGates", found);
    }
    return found;
}

bool deletes_volume_claims(const api::Json& job_set_spec) {
    const auto& policies = job_set_spec["volumeClaimPolicies"].items();
    // JobSet's default is Delete.
    return std::any_of(policies.begin(), policies.end(), [](const api::Json& policy) {
        return policy["retentionPolicy"]["whenDeleted"].as_string() != "Retain";
    });
}

}  // namespace lifecycle
