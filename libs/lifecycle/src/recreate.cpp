#include "lifecycle/recreate.hpp"

#include <algorithm>

#include "api/meta.hpp"
#include "api/names.hpp"
#include "items.hpp"
#include "lifecycle/refusal.hpp"
#include "ownership.hpp"
#include "placement.hpp"

namespace lifecycle {
namespace {

template <class IsOurs>
void add_withdrawn_keys(const api::Json& live, const api::Json& wanted, const std::string& path,
                        std::vector<std::string>& found, IsOurs is_ours) {
    for (const auto& [key, value] : live.members())
        if (!wanted.contains(key) && is_ours(key)) found.push_back(path + "[" + key + "]");
}

template <class IsOurs>
void add_withdrawn_items(const api::Json& live, const api::Json& wanted, const std::string& path,
                         std::vector<std::string>& found, IsOurs is_ours) {
    if (live.items().empty()) return;
    const Items kept(wanted);
    for (std::size_t i = 0; i < live.items().size(); ++i)
        if (const std::string text = to_json(live[i]); !kept.has(text) && is_ours(live[i], text))
            found.push_back(path + "[" + std::to_string(i) + "]");
}

const api::Json& pod_template(const api::Json& replicated_job) {
    return replicated_job["template"]["spec"]["template"];
}

bool is_taken_over(const api::Json& live) {
    return !api::is_applied_by_us(live) ||
           live["metadata"]["annotations"].contains(api::taken_over_annotation);
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
    return is_taken_over(live) || !only_our_applies_set(live, "suspend");
}

api::Json with_mark_of_takeover(api::Json wanted, const api::Json& live) {
    const bool stays_suspended = std::as_const(wanted)["spec"]["suspend"].bool_or(false);
    const bool matters = stays_suspended && deletes_volume_claims(live["spec"]);
    if (matters && is_taken_over(live) && api::parse_meta(live).generation != 1)
        wanted["metadata"]["annotations"][api::taken_over_annotation] = "true";
    return wanted;
}

std::vector<std::string> withdrawn_fields(const api::Json& live, const api::Json& wanted) {
    std::vector<std::string> found;
    const Ownership jobs_of_ours = applied_by_us(live).member("spec").member("replicatedJobs");
    const Placement placement(live);
    const api::Json& live_jobs = live["spec"]["replicatedJobs"];
    const ItemsByName wanted_jobs(wanted["spec"]["replicatedJobs"]);
    for (std::size_t i = 0; i < live_jobs.items().size(); ++i) {
        // One that is missing altogether is refused by the API server.
        const std::string_view job_name = live_jobs[i]["name"].as_string();
        const api::Json* job = wanted_jobs.find(job_name);
        if (!job) continue;
        const api::Json& before = pod_template(live_jobs[i]);
        const api::Json& after = pod_template(*job);
        const std::string path = "spec.replicatedJobs[" + std::to_string(i) + "].template.spec.template.";
        const Ownership ours =
            jobs_of_ours.item(job_name).member("template").member("spec").member("template");
        for (const char* name : {"labels", "annotations"}) {
            const Ownership of_map = ours.member("metadata").member(name);
            add_withdrawn_keys(before["metadata"][name], after["metadata"][name], path + "metadata." + name,
                               found, [&](const std::string& key) { return of_map.has_member(key); });
        }
        add_withdrawn_keys(before["spec"]["nodeSelector"], after["spec"]["nodeSelector"],
                           path + "spec.nodeSelector", found,
                           [&](const std::string& key) { return placement.has_selector(job_name, key); });
        const Items tolerations = placement.tolerations(job_name);
        add_withdrawn_items(before["spec"]["tolerations"], after["spec"]["tolerations"],
                            path + "spec.tolerations", found,
                            [&](const api::Json&, const std::string& text) { return tolerations.has(text); });
        const Ownership gates = ours.member("spec").member("schedulingGates");
        add_withdrawn_items(before["spec"]["schedulingGates"], after["spec"]["schedulingGates"],
                            path + "spec.schedulingGates", found,
                            [&](const api::Json& gate, const std::string&) {
                                return gates.has_item(gate["name"].as_string());
                            });
    }
    return found;
}

api::Json with_entries_of_others(api::Json wanted, const api::Json& live) {
    const Placement ours(live);
    api::Json* jobs = wanted["spec"].find("replicatedJobs");
    if (!jobs) return wanted;
    const ItemsByName live_jobs(live["spec"]["replicatedJobs"]);
    for (api::Json& job : jobs->items()) {
        const std::string name(std::as_const(job)["name"].as_string());
        const api::Json* live_job = live_jobs.find(name);
        const api::Json& as_built = pod_template(job)["spec"];
        if (!live_job) continue;
        const api::Json& there = pod_template(*live_job)["spec"];
        // A field that we do not send at all is left to them by the apply.
        api::Json selector = as_built["nodeSelector"], tolerations = api::Json::array();
        if (!selector.empty()) {
            for (const auto& [key, value] : there["nodeSelector"].members())
                if (!selector.contains(key) && !ours.has_selector(name, key)) selector[key] = value;
            job["template"]["spec"]["template"]["spec"]["nodeSelector"] = std::move(selector);
        }
        if (as_built["tolerations"].empty()) continue;
        const Items built(as_built["tolerations"]), noted = ours.tolerations(name);
        Items taken;
        for (const api::Json& item : there["tolerations"].items()) {
            std::string text = to_json(item);
            if (!built.has(text) && noted.has(text)) continue;
            tolerations.push_back(item);
            if (built.has(text)) taken.add(std::move(text));
        }
        for (const api::Json& item : as_built["tolerations"].items())
            if (taken.add(item)) tolerations.push_back(item);
        job["template"]["spec"]["template"]["spec"]["tolerations"] = std::move(tolerations);
    }
    return wanted;
}

bool deletes_volume_claims(const api::Json& job_set_spec) {
    const auto& policies = job_set_spec["volumeClaimPolicies"].items();
    // JobSet's default is Delete.
    return std::any_of(policies.begin(), policies.end(), [](const api::Json& policy) {
        return policy["retentionPolicy"]["whenDeleted"].as_string() != "Retain";
    });
}

}  // namespace lifecycle
