#include "lifecycle/withdrawal.hpp"

#include <algorithm>
#include <set>

#include "api/hash.hpp"
#include "api/named_items.hpp"
#include "api/names.hpp"
#include "items.hpp"
#include "managed_fields.hpp"
#include "placement.hpp"
#include "withdrawn_entries.hpp"

namespace lifecycle {
namespace {

struct Withdrawn {
    std::string path;
    std::string hash;
};

// Collects the withdrawn entries of one replicated job.
class Comparison {
public:
    Comparison(std::string_view job, std::string path, std::vector<Withdrawn>& found)
        : job_(job), path_(std::move(path)), found_(found) {}

    void compare_maps(const char* field, const std::string& path, const api::Json& live,
                      const api::Json& wanted, auto is_own) {
        for (const auto& [key, value] : live.members())
            if (!wanted.contains(key) && is_own(key))
                found_.push_back({path_ + path + "[" + key + "]", api::entry_hash(job_, field, key)});
    }
    void compare_lists(const char* field, const std::string& path, const api::Json& live,
                       const api::Json& wanted, auto is_own) {
        if (live.items().empty()) return;
        const Items kept(wanted);
        for (std::size_t i = 0; i < live.items().size(); ++i)
            if (const std::string text = to_json(live[i]); !kept.has(text) && is_own(live[i], text))
                found_.push_back(
                    {path_ + path + "[" + std::to_string(i) + "]", hash_of(job_, field, live[i])});
    }

private:
    std::string_view job_;
    std::string path_;
    std::vector<Withdrawn>& found_;
};

std::vector<Withdrawn> withdrawn(const api::Json& live, const api::Json& wanted) {
    std::vector<Withdrawn> found;
    const ManagedFields own_jobs = applied_here(live).member("spec").member("replicatedJobs");
    const Placement placement(live);
    const api::Json& live_jobs = live["spec"]["replicatedJobs"];
    api::NamedItems wanted_jobs;
    for (std::size_t i = 0; i < live_jobs.items().size(); ++i) {
        // The API server refuses an apply that lacks a replicated job.
        const std::string_view name = live_jobs[i]["name"].as_string();
        const api::Json* job = wanted_jobs.find(wanted["spec"]["replicatedJobs"], name);
        if (!job) continue;
        const api::Json& before = pod_template(live_jobs[i]);
        const api::Json& after = pod_template(*job);
        const ManagedFields own = own_jobs.item(name).member("template").member("spec").member("template");
        Comparison comparison(name, "spec.replicatedJobs[" + std::to_string(i) + "].template.spec.template.",
                              found);
        for (const char* field : {"labels", "annotations"}) {
            const ManagedFields of_map = own.member("metadata").member(field);
            comparison.compare_maps(field, std::string("metadata.") + field, before["metadata"][field],
                                    after["metadata"][field],
                                    [&](const std::string& key) { return of_map.has_member(key); });
        }
        comparison.compare_maps("nodeSelector", "spec.nodeSelector", before["spec"]["nodeSelector"],
                                after["spec"]["nodeSelector"],
                                [&](const std::string& key) { return placement.has_selector(name, key); });
        const auto tolerations = placement.tolerations(name);
        comparison.compare_lists(
            "tolerations", "spec.tolerations", before["spec"]["tolerations"], after["spec"]["tolerations"],
            [&](const api::Json&, const std::string& text) { return tolerations.has(text); });
        const ManagedFields gates = own.member("spec").member("schedulingGates");
        comparison.compare_lists("schedulingGates", "spec.schedulingGates", before["spec"]["schedulingGates"],
                                 after["spec"]["schedulingGates"],
                                 [&](const api::Json& gate, const std::string&) {
                                     return gates.has_item(gate["name"].as_string());
                                 });
    }
    return found;
}

}  // namespace

std::vector<std::string> withdrawn_fields(const api::Json& live, const api::Json& wanted) {
    std::vector<std::string> paths;
    for (Withdrawn& each : withdrawn(live, wanted)) paths.push_back(std::move(each.path));
    return paths;
}

api::Json with_entries_of_others(api::Json wanted, const api::Json& live) {
    const Placement placement(live);
    api::Json* jobs = wanted["spec"].find("replicatedJobs");
    if (!jobs) return wanted;
    api::NamedItems live_jobs;
    for (api::Json& job : jobs->items()) {
        const std::string name(std::as_const(job)["name"].as_string());
        const api::Json* live_job = live_jobs.find(live["spec"]["replicatedJobs"], name);
        const api::Json& as_built = pod_template(job)["spec"];
        if (!live_job) continue;
        const api::Json& there = pod_template(*live_job)["spec"];
        // A field that is not sent at all stays as the others have it.
        api::Json selector = as_built["nodeSelector"], tolerations = api::Json::array();
        if (!selector.empty()) {
            {
                api::JsonMerger merged(selector.members());
                for (const auto& [key, value] : there["nodeSelector"].members())
                    if (!as_built["nodeSelector"].contains(key) && !placement.has_selector(name, key))
                        merged[key] = value;
            }
            job["template"]["spec"]["template"]["spec"]["nodeSelector"] = std::move(selector);
        }
        if (as_built["tolerations"].empty()) continue;
        const Items built(as_built["tolerations"]);
        const auto noted = placement.tolerations(name);
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

api::Json with_withdrawn(api::Json wanted, const api::Json& live, bool withdraws) {
    const std::set<std::string> before = noted_in(live);
    std::set<std::string> noted = before;
    if (withdraws)
        for (Withdrawn& each : withdrawn(live, wanted)) noted.insert(std::move(each.hash));
    if (!noted.empty())
        for (const auto& [again, text] : entries_of(wanted)) noted.erase(again);
    if (noted.empty()) return wanted;
    std::string note;
    for (const std::string& hash : noted) note += (note.empty() ? "" : " ") + hash;
    api::Json& annotations = wanted["metadata"]["annotations"];
    annotations[api::withdrawn_annotation] = std::move(note);
    // The count of replacements stays if no entry was withdrawn since.
    const api::Json& count = live["metadata"]["annotations"][api::replacements_annotation];
    if (!count.is_null() && std::includes(before.begin(), before.end(), noted.begin(), noted.end()))
        annotations[api::replacements_annotation] = count;
    wanted["spec"]["suspend"] = true;
    return wanted;
}

bool has_withdrawn(const api::Json& job_set) {
    return job_set["metadata"]["annotations"].contains(api::withdrawn_annotation);
}

}  // namespace lifecycle
