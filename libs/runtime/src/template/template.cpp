#include "template/template.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "api/names.hpp"
#include "merge/strategic_merge.hpp"
#include "template/edit.hpp"
#include "template/forbidden_fields.hpp"

namespace runtime {
namespace {

using api::Json;

bool is_noise_when_empty(std::string_view name) {
    return name == "metadata" || name == "resources" || name == "strategy" || name == "status";
}

// A server-side apply owns every field that it sends. Null and the empty structs that Go's encoder writes
// (`metadata: {}`, `resources: {}`, `strategy: {}`) have no meaning, so they are not sent.
void drop_noise(Json& tree) {
    if (tree.is_array())
        for (Json& item : tree.items()) drop_noise(item);
    if (!tree.is_object()) return;
    for (auto& member : tree.members()) drop_noise(member.value);
    tree.members().erase_if([](const auto& m) {
        return m.value.is_null() || (m.value.is_object() && m.value.empty() && is_noise_when_empty(m.key));
    });
}

// The CRD also admits name, namespace and finalizers in a patch's metadata; they do not belong into a
// template.
bool belongs_into_template(const Json::Object::Member& m) {
    return m.key == "labels" || m.key == "annotations";
}

void keep_labels_and_annotations(Json* metadata) {
    if (!metadata || !metadata->is_object()) return;
    metadata->members().erase_if([](const auto& m) { return !belongs_into_template(m); });
}

bool has_more_than_labels_and_annotations(const Json& metadata) {
    const auto& members = metadata.members();
    return !std::all_of(members.begin(), members.end(), belongs_into_template);
}

bool has_more_metadata(const Json& patch_of_spec) {
    const auto& jobs = patch_of_spec["replicatedJobs"].items();
    return std::any_of(jobs.begin(), jobs.end(), [](const Json& job) {
        const Json& job_template = job["template"];
        return has_more_than_labels_and_annotations(job_template["metadata"]) ||
               has_more_than_labels_and_annotations(job_template["spec"]["template"]["metadata"]);
    });
}

Json without_more_metadata(Json spec) {
    if (Json* jobs = spec.find("replicatedJobs"); jobs && jobs->is_array())
        for (Json& job : jobs->items()) {
            Json* job_template = job.find("template");
            if (!job_template) continue;
            keep_labels_and_annotations(job_template->find("metadata"));
            Json* job_spec = job_template->find("spec");
            Json* pod_template = job_spec ? job_spec->find("template") : nullptr;
            if (pod_template) keep_labels_and_annotations(pod_template->find("metadata"));
        }
    return spec;
}

Json* tolerations_of(Json& job) {
    Json* place = &job;
    for (const char* member : {"template", "spec", "template", "spec", "tolerations"})
        if (place) place = place->find(member);
    return place;
}

// A patch replaces the list. Kueue's patch has only the tolerations of a flavor, and for every other kind of
// job Kueue adds them to the job's own.
void keep_tolerations(const Json& spec, Json& patch) {
    Json* jobs = patch.find("replicatedJobs");
    if (!jobs || !jobs->is_array()) return;
    api::NamedItems jobs_there;
    std::set<const Json*> done;
    for (auto job = jobs->items().rbegin(); job != jobs->items().rend(); ++job) {
        Json* added = tolerations_of(*job);
        const Json* there = jobs_there.find(spec["replicatedJobs"], std::as_const(*job)["name"].as_string());
        if (!added || std::as_const(*added).items().empty() || !there) continue;
        const Json& own = (*there)["template"]["spec"]["template"]["spec"]["tolerations"];
        if (!own.is_array()) continue;
        // If a job is named more than once, the last list counts.
        if (!done.insert(there).second) {
            *added = Json();
            continue;
        }
        Json all = own;
        // Indexed, since both lists may be long.
        std::set<std::string> known;
        for (const Json& toleration : std::as_const(all).items()) known.insert(to_json(toleration));
        for (Json& toleration : added->items())
            if (known.insert(to_json(toleration)).second) all.push_back(std::move(toleration));
        *added = std::move(all);
    }
}

void put_all(Json& map, const Json& additions) {
    api::JsonMerger merged(map.members());
    for (const auto& [key, value] : additions.members())
        if (!value.is_null()) merged[key] = value;
}

// Merging moves the jobs that a patch names to the front. Their order in a JobSet matters: it cannot change
// later, and a job may depend on earlier ones only.
void restore_order(Json& spec, const Json& original) {
    std::map<std::string_view, std::size_t> positions;
    for (const Json& job : original["replicatedJobs"].items())
        positions.emplace(job["name"].as_string(), positions.size());
    const auto position = [&positions](const Json& job) {
        const auto found = positions.find(job["name"].as_string());
        return found == positions.end() ? 0 : found->second;
    };
    if (Json* jobs = spec.find("replicatedJobs"); jobs && jobs->is_array())
        std::stable_sort(jobs->items().begin(), jobs->items().end(),
                         [&](const Json& a, const Json& b) { return position(a) < position(b); });
}

}  // namespace

api::Result<Template> patched_template(const Json& runtime, const Json& train_job_spec) {
    const Json& source = runtime["spec"]["template"];
    Template result;
    result.spec = source["spec"].is_object() ? source["spec"] : Json::object();
    strip_forbidden_fields(result.spec);
    put_all(result.labels, source["metadata"]["labels"]);
    put_all(result.annotations, source["metadata"]["annotations"]);

    const auto& patches = train_job_spec["runtimePatches"].items();
    for (std::size_t i = 0; i < patches.size(); ++i) {
        const Json& patch = patches[i]["trainingRuntimeSpec"]["template"];
        put_all(result.labels, patch["metadata"]["labels"]);
        put_all(result.annotations, patch["metadata"]["annotations"]);
        if (patch["spec"].empty()) continue;
        const bool is_kueues = patches[i]["manager"].as_string() == api::kueue_manager;
        // Most patches are merged as they are, without a copy.
        const bool is_changed = is_kueues || has_more_metadata(patch["spec"]);
        Json changed = is_changed ? without_more_metadata(patch["spec"]) : Json();
        if (is_kueues) keep_tolerations(result.spec, changed);
        auto merged = merge::strategic_merge(std::move(result.spec), is_changed ? changed : patch["spec"],
                                             merge::job_set_spec());
        if (!merged)
            return api::invalid("spec.runtimePatches[" + std::to_string(i) + "]",
                                "trainingRuntimeSpec.template.spec." + describe(merged.error()));
        result.spec = std::move(*merged);
    }
    if (!patches.empty()) restore_order(result.spec, source["spec"]);
    drop_noise(result.spec);
    return result;
}

}  // namespace runtime
