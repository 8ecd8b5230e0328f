#include "runtime/applied_hash.hpp"

#include <cstdint>

#include "api/names.hpp"
#include "runtime/compare.hpp"

namespace runtime {
namespace {

using api::Json;

// FNV-1a: it tells versions of one's own objects apart, nothing depends on it being hard to forge.
std::uint64_t fnv1a(std::string_view bytes) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : bytes) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3;
    }
    return hash;
}

Json taken(Json& object, std::string_view member) {
    Json* found = object.find(member);
    Json value = found ? std::move(*found) : Json();
    object.erase(member);
    return value;
}

std::string hex(std::uint64_t value) {
    std::string text(16, '0');
    for (std::size_t i = text.size(); i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
    return text;
}

// Where Pods may run, by replicated job: see with_applied_hash. Null if they may run anywhere.
Json placement_of(const Json& job_set) {
    Json::Object::Members noted;
    for (const Json& job : job_set["spec"]["replicatedJobs"].items()) {
        const Json& pod = job["template"]["spec"]["template"]["spec"];
        Json of_job;
        for (const char* field : {"nodeSelector", "tolerations"})
            if (!pod[field].empty()) of_job[field] = pod[field];
        if (!of_job.is_null()) noted.push_back({std::string(job["name"].as_string()), std::move(of_job)});
    }
    return noted.empty() ? Json() : Json(Json::Object(std::move(noted)));
}

}  // namespace

Json with_applied_hash(Json object) {
    // What does not count is taken out while the rest is hashed; a copy of the whole would cost as much as
    // the hash.
    Json& metadata = object["metadata"];
    Json uid = taken(metadata, "uid"), version = taken(metadata, "resourceVersion");
    if (Json* annotations = metadata.find("annotations")) {
        annotations->erase(api::applied_hash_annotation);
        if (annotations->empty()) metadata.erase("annotations");
    }
    std::string hash = hex(fnv1a(to_json(object)));
    if (const Json placement = placement_of(object); !placement.is_null())
        hash.append(" ").append(to_json(placement));
    metadata["annotations"][api::applied_hash_annotation] = std::move(hash);
    if (!uid.is_null()) metadata["uid"] = std::move(uid);
    if (!version.is_null()) metadata["resourceVersion"] = std::move(version);
    return object;
}

std::string applied_hash(const Json& object) {
    const std::string_view note = object["metadata"]["annotations"][api::applied_hash_annotation].as_string();
    return std::string(note.substr(0, note.find(' ')));
}

bool is_applied(const Json& wanted, const Json& live) {
    return !applied_hash(wanted).empty() && applied_hash(wanted) == applied_hash(live) &&
           is_contained(wanted, live);
}

bool differs_in_suspend_only(const Json& wanted, const Json& live) {
    const std::string applied = applied_hash(live);
    if (applied.empty()) return false;
    Json other = wanted;
    other["spec"]["suspend"] = !wanted["spec"]["suspend"].bool_or(false);
    return applied == applied_hash(wanted) || applied == applied_hash(with_applied_hash(std::move(other)));
}

}  // namespace runtime
