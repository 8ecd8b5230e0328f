#include "lifecycle/withdrawal.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "api/hash.hpp"
#include "api/job_set.hpp"
#include "api/named_items.hpp"
#include "api/notes.hpp"
#include "items.hpp"
#include "ownership.hpp"
#include "placement.hpp"

namespace lifecycle {
namespace {

const api::Json& pod_template(const api::Json& replicated_job) {
    return replicated_job["template"]["spec"]["template"];
}

// An item of a list, as the note tells of it. Jobs leave out what is empty.
std::string hash_of(std::string_view job, std::string_view field, api::Json item) {
    if (item.is_object()) item.members().erase_if([](const auto& member) { return member.value.empty(); });
    return api::entry_hash(job, field, to_json(item));
}

// What can be withdrawn of a pod template, each with its hash.
std::set<std::string> entries_of(std::string_view job, const api::Json& pod) {
    std::set<std::string> found;
    const auto add_keys = [&](const char* field, const api::Json& map) {
        for (const auto& [key, value] : map.members()) found.insert(api::entry_hash(job, field, key));
    };
    add_keys("labels", pod["metadata"]["labels"]);
    add_keys("annotations", pod["metadata"]["annotations"]);
    add_keys("nodeSelector", pod["spec"]["nodeSelector"]);
    for (const char* field : {"tolerations", "schedulingGates"})
        for (const api::Json& item : pod["spec"][field].items()) found.insert(hash_of(job, field, item));
    return found;
}

struct Withdrawn {
    std::string path;
    std::string hash;
};

// Of one replicated job.
class Comparison {
public:
    Comparison(std::string_view job, std::string path, std::vector<Withdrawn>& found)
        : job_(job), path_(std::move(path)), found_(found) {}

    void compare_maps(const char* field, const std::string& path, const api::Json& live,
                      const api::Json& wanted, auto is_ours) {
        for (const auto& [key, value] : live.members())
            if (!wanted.contains(key) && is_ours(key))
                found_.push_back({path_ + path + "[" + key + "]", api::entry_hash(job_, field, key)});
    }
    void compare_lists(const char* field, const std::string& path, const api::Json& live,
                       const api::Json& wanted, auto is_ours) {
        if (live.items().empty()) return;
        const Items kept(wanted);
        for (std::size_t i = 0; i < live.items().size(); ++i)
            if (const std::string text = to_json(live[i]); !kept.has(text) && is_ours(live[i], text))
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
    const Ownership jobs_of_ours = applied_by_us(live).member("spec").member("replicatedJobs");
    const Placement placement(live);
    const api::Json& live_jobs = live["spec"]["replicatedJobs"];
    api::NamedItems wanted_jobs;
    for (std::size_t i = 0; i < live_jobs.items().size(); ++i) {
        // One that is missing altogether is refused by the API server.
        const std::string_view name = live_jobs[i]["name"].as_string();
        const api::Json* job = wanted_jobs.find(wanted["spec"]["replicatedJobs"], name);
        if (!job) continue;
        const api::Json& before = pod_template(live_jobs[i]);
        const api::Json& after = pod_template(*job);
        const Ownership ours = jobs_of_ours.item(name).member("template").member("spec").member("template");
        Comparison comparison(name, "spec.replicatedJobs[" + std::to_string(i) + "].template.spec.template.",
                              found);
        for (const char* field : {"labels", "annotations"}) {
            const Ownership of_map = ours.member("metadata").member(field);
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
        const Ownership gates = ours.member("spec").member("schedulingGates");
        comparison.compare_lists("schedulingGates", "spec.schedulingGates", before["spec"]["schedulingGates"],
                                 after["spec"]["schedulingGates"],
                                 [&](const api::Json& gate, const std::string&) {
                                     return gates.has_item(gate["name"].as_string());
                                 });
    }
    return found;
}

std::set<std::string> entries_of(const api::Json& job_set) {
    std::set<std::string> found;
    for (const api::Json& job : job_set["spec"]["replicatedJobs"].items())
        found.merge(entries_of(job["name"].as_string(), pod_template(job)));
    return found;
}

std::set<std::string> noted_in(const api::Json& job_set) {
    std::string_view note = job_set["metadata"]["annotations"][api::withdrawn_annotation].as_string();
    std::set<std::string> found;
    while (!note.empty()) {
        const auto space = std::min(note.find(' '), note.size());
        found.emplace(note.substr(0, space));
        note.remove_prefix(std::min(space + 1, note.size()));
    }
    return found;
}

bool is_finished(const api::Json& job) {
    for (const api::Json& condition : job["status"]["conditions"].items())
        if (condition["status"].as_string() == "True" &&
            (condition["type"].as_string() == "Complete" || condition["type"].as_string() == "Failed"))
            return true;
    return false;
}

// The Jobs of one replicated job.
struct Family {
    std::int64_t there = 0;
    std::int64_t finished = 0;
};
using Families = std::map<std::string, Family, std::less<>>;

// Whether JobSet has made all Jobs that it makes of a suspended JobSet: those that wait for no other Jobs. Of
// a JobSet that its controller has not looked at yet it has made none.
bool are_made(const api::Json& job_set, const Families& families) {
    if (job_set["status"]["replicatedJobsStatus"].empty()) return true;
    const auto of = [&](std::string_view name) {
        const auto at = families.find(name);
        return at == families.end() ? Family() : at->second;
    };
    const api::Json& jobs = job_set["spec"]["replicatedJobs"];
    api::NamedItems jobs_by_name;
    const auto is_over = [&](const api::Json& dependency) {
        const std::string_view name = dependency["name"].as_string();
        const api::Json* job = jobs_by_name.find(jobs, name);
        return job && of(name).finished >= (*job)["replicas"].int_or(1);
    };
    return std::all_of(jobs.items().begin(), jobs.items().end(), [&](const api::Json& job) {
        const auto& after = job["dependsOn"].items();
        return !std::all_of(after.begin(), after.end(), is_over) ||
               of(job["name"].as_string()).there >= job["replicas"].int_or(1);
    });
}

}  // namespace

std::vector<std::string> withdrawn_fields(const api::Json& live, const api::Json& wanted) {
    std::vector<std::string> paths;
    for (Withdrawn& each : withdrawn(live, wanted)) paths.push_back(std::move(each.path));
    return paths;
}

api::Json with_entries_of_others(api::Json wanted, const api::Json& live) {
    const Placement ours(live);
    api::Json* jobs = wanted["spec"].find("replicatedJobs");
    if (!jobs) return wanted;
    api::NamedItems live_jobs;
    for (api::Json& job : jobs->items()) {
        const std::string name(std::as_const(job)["name"].as_string());
        const api::Json* live_job = live_jobs.find(live["spec"]["replicatedJobs"], name);
        const api::Json& as_built = pod_template(job)["spec"];
        if (!live_job) continue;
        const api::Json& there = pod_template(*live_job)["spec"];
        // A field that we do not send at all is left to them by the apply.
        api::Json selector = as_built["nodeSelector"], tolerations = api::Json::array();
        if (!selector.empty()) {
            {
                api::JsonMerger merged(selector.members());
                for (const auto& [key, value] : there["nodeSelector"].members())
                    if (!as_built["nodeSelector"].contains(key) && !ours.has_selector(name, key))
                        merged[key] = value;
            }
            job["template"]["spec"]["template"]["spec"]["nodeSelector"] = std::move(selector);
        }
        if (as_built["tolerations"].empty()) continue;
        const Items built(as_built["tolerations"]);
        const auto noted = ours.tolerations(name);
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
    std::set<std::string> noted = noted_in(live);
    if (withdraws)
        for (Withdrawn& each : withdrawn(live, wanted)) noted.insert(std::move(each.hash));
    for (const std::string& again : entries_of(wanted)) noted.erase(again);
    if (noted.empty()) return wanted;
    std::string note;
    for (const std::string& hash : noted) note += (note.empty() ? "" : " ") + hash;
    wanted["metadata"]["annotations"][api::withdrawn_annotation] = std::move(note);
    wanted["spec"]["suspend"] = true;
    return wanted;
}

bool has_withdrawn(const api::Json& job_set) {
    return job_set["metadata"]["annotations"].contains(api::withdrawn_annotation);
}

JobsToReplace jobs_to_replace(const api::Json& job_set, const std::vector<api::Json>& jobs) {
    std::set<std::string> gone = noted_in(job_set);
    // Others may have put it there as well.
    for (const std::string& kept : entries_of(job_set)) gone.erase(kept);
    const std::string uid = api::parse_meta(job_set).uid;
    JobsToReplace found = {.settled = true};
    Families families;
    for (const api::Json& job : jobs) {
        api::ObjectMeta meta = api::parse_meta(job);
        if (meta.controller_uid != uid) continue;
        const std::string_view name = job["metadata"]["labels"][api::replicated_job_label].as_string();
        Family& family = families[std::string(name)];
        ++family.there;
        if (is_finished(job)) {
            ++family.finished;
            continue;
        }
        const auto has = entries_of(name, job["spec"]["template"]);
        if (std::none_of(has.begin(), has.end(), [&](const auto& each) { return gone.contains(each); }))
            continue;
        found.settled = false;
        if (!meta.deletion && job["spec"]["suspend"].bool_or(false)) found.remove.push_back(std::move(meta));
    }
    found.settled = found.settled && are_made(job_set, families);
    return found;
}

}  // namespace lifecycle
