#include "runtime/applied_hash.hpp"

#include "api/hash.hpp"
#include "api/job_set.hpp"
#include "api/names.hpp"
#include "runtime/compare.hpp"
#include "runtime/live_defaults.hpp"

namespace runtime {
namespace {

using api::Json;

// The annotations of an object may have 256 KiB in total.
constexpr std::size_t longest_placement = 4096;

Json taken(Json& object, std::string_view member) {
    Json* found = object.find(member);
    Json value = found ? std::move(*found) : Json();
    object.erase(member);
    return value;
}

// Returns the same with hashes. Keys identify the entries of a selector.
Json hashed(const Json& placement) {
    Json::Object::Members all;
    for (const auto& [job, fields] : placement.members()) {
        Json::Object::Members selector;
        for (const auto& [key, value] : fields["nodeSelector"].members())
            selector.push_back({api::entry_hash(job, "nodeSelector", key), ""});
        Json of_job;
        if (!selector.empty()) of_job["nodeSelector"] = Json(Json::Object(std::move(selector)));
        for (const Json& item : fields["tolerations"].items())
            of_job["tolerations"].push_back(api::entry_hash(job, "tolerations", to_json(item)));
        all.push_back({job, std::move(of_job)});
    }
    return Json(Json::Object(std::move(all)));
}

// Returns the placement of Pods by replicated job: see with_applied_hash. Empty if there is none.
std::string placement_of(const Json& job_set) {
    Json::Object::Members noted;
    for (const Json& job : job_set["spec"]["replicatedJobs"].items()) {
        const Json& pod = job["template"]["spec"]["template"]["spec"];
        Json of_job;
        for (const char* field : {"nodeSelector", "tolerations"})
            if (!pod[field].empty()) of_job[field] = pod[field];
        if (!of_job.is_null()) noted.push_back({std::string(job["name"].as_string()), std::move(of_job)});
    }
    if (noted.empty()) return "";
    const Json placement(Json::Object(std::move(noted)));
    std::string text = to_json(placement);
    return text.size() <= longest_placement ? text : to_json(hashed(placement));
}

std::string template_hash(const Json& job_set) {
    return api::hex(api::fnv1a(to_json(fixed_part(job_set["spec"]))));
}

// Returns whether what follows the hash is the same.
bool has_note_of(const Json& built, const Json& live) {
    const auto without_hash = [](api::AppliedNote note) {
        note.hash = {};
        return note;
    };
    return without_hash(api::applied_note(built)) == without_hash(api::applied_note(live));
}

const Json& annotation_of(const Json& object) {
    return object["metadata"]["annotations"][api::applied_hash_annotation];
}

Json with_annotation_of(const Json& live, Json object) {
    object["metadata"]["annotations"][api::applied_hash_annotation] = annotation_of(live);
    return object;
}

Json with_note(Json object, const auto& note_after) {
    // Removes the parts that do not count while it computes the hash, and restores them: a copy of the whole
    // would cost as much as the hash.
    Json& metadata = object["metadata"];
    Json uid = taken(metadata, "uid"), version = taken(metadata, "resourceVersion");
    if (Json* annotations = metadata.find("annotations")) {
        annotations->erase(api::applied_hash_annotation);
        if (annotations->empty()) metadata.erase("annotations");
    }
    std::string note = note_after(api::hex(api::fnv1a(to_json(object))), std::as_const(object));
    metadata["annotations"][api::applied_hash_annotation] = std::move(note);
    if (!uid.is_null()) metadata["uid"] = std::move(uid);
    if (!version.is_null()) metadata["resourceVersion"] = std::move(version);
    return object;
}

}  // namespace

Json with_applied_hash(Json object) {
    return with_note(std::move(object), [](std::string hash, const Json&) { return hash; });
}

Json with_applied_hash(Json job_set, const BuildNote& note) {
    return with_note(std::move(job_set), [&](std::string hash, const Json& object) {
        for (const std::string& part :
             {template_hash(object), note.source, note.nodes, note.runtime, note.inputs})
            hash.append(".").append(part);
        if (const std::string placement = placement_of(object); !placement.empty())
            hash.append(" ").append(placement);
        return hash;
    });
}

std::string applied_hash(const Json& object) { return std::string(api::applied_note(object).hash); }

bool is_applied(const Json& wanted, const Json& live) {
    return !applied_hash(wanted).empty() && annotation_of(wanted) == annotation_of(live) &&
           is_contained(wanted, live);
}

bool differs_in_suspend_only(const Json& wanted, const Json& live) {
    const std::string applied = applied_hash(live);
    if (applied.empty()) return false;
    Json other = wanted;
    other["spec"]["suspend"] = !wanted["spec"]["suspend"].bool_or(false);
    return applied == applied_hash(wanted) || applied == applied_hash(with_applied_hash(std::move(other)));
}

bool is_applied_but_for_suspend(const Json& built, const Json& wanted, const Json& live) {
    return differs_in_suspend_only(built, live) && has_note_of(built, live) &&
           is_contained(with_annotation_of(live, wanted), live);
}

bool keeps_template(const Json& wanted, const Json& live) {
    const api::AppliedNote now = api::applied_note(wanted), then = api::applied_note(live);
    const auto same = [](std::string_view one, std::string_view other) {
        return !one.empty() && one == other;
    };
    return same(now.fixed_part, then.fixed_part) || same(now.source, then.source);
}

bool is_built_from_other(const Json& live, const BuildNote& note) {
    const api::AppliedNote then = api::applied_note(live);
    return !then.source.empty() && (then.source != note.source || then.inputs != note.inputs);
}

}  // namespace runtime
