#include "withdrawn_entries.hpp"

#include <algorithm>

#include "api/hash.hpp"
#include "api/names.hpp"

namespace lifecycle {

const api::Json& pod_template(const api::Json& replicated_job) {
    return replicated_job["template"]["spec"]["template"];
}

std::string hash_of(std::string_view job, std::string_view field, api::Json item) {
    if (item.is_object()) item.members().erase_if([](const auto& member) { return member.value.empty(); });
    return api::entry_hash(job, field, to_json(item));
}

Entries entries_of(std::string_view job, const api::Json& pod) {
    Entries found;
    const auto add_keys = [&](const char* what, const char* field, const api::Json& map) {
        for (const auto& [key, value] : map.members())
            found.emplace(api::entry_hash(job, field, key), what + key);
    };
    add_keys("label ", "labels", pod["metadata"]["labels"]);
    add_keys("annotation ", "annotations", pod["metadata"]["annotations"]);
    add_keys("node selector ", "nodeSelector", pod["spec"]["nodeSelector"]);
    for (const api::Json& item : pod["spec"]["tolerations"].items())
        found.emplace(hash_of(job, "tolerations", item), "toleration " + to_json(item));
    for (const api::Json& item : pod["spec"]["schedulingGates"].items())
        found.emplace(hash_of(job, "schedulingGates", item), "scheduling gate " + to_json(item["name"]));
    return found;
}

Entries entries_of(const api::Json& job_set) {
    Entries found;
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

}  // namespace lifecycle
