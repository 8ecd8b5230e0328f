#include "apply/source.hpp"

#include <algorithm>

#include "api/hash.hpp"
#include "runtime/applied_hash.hpp"
#include "template/open_fields.hpp"

namespace runtime {

namespace {

using api::Json;

// Returns whether a value is null, "", or a list or an object of such values.
bool is_empty_tree(const Json& value) {
    const auto& items = value.items();
    const auto& members = value.members();
    if (value.is_object())
        return std::all_of(members.begin(), members.end(),
                           [](const auto& member) { return is_empty_tree(member.value); });
    if (value.is_array()) return std::all_of(items.begin(), items.end(), is_empty_tree);
    return value.empty();
}

// Returns whether a patch of a replicated job has nothing but its name.
bool has_only_name(const Json& job) {
    const auto& members = job.members();
    return std::all_of(members.begin(), members.end(), [](const auto& member) {
        return member.key == "name" || is_empty_tree(member.value);
    });
}

void add(std::uint64_t& hash, std::string_view name, const Json& value) {
    hash = api::fnv1a(to_json(value), api::fnv1a(name, hash));
}

// Adds what the immutable part of a JobSet takes from the TrainJob.
void add_fixed_fields(std::uint64_t& hash, const api::TrainJob& job) {
    for (const auto& [name, value] : job.spec.members()) {
        if (name == "runtimePatches") {
            if (const Json fixed = fixed_patches(value); !fixed.empty()) add(hash, name, fixed);
        } else if (name != "suspend" && name != "labels" && name != "annotations" &&
                   name != "ttlSecondsAfterFinished") {
            add(hash, name, value);
        }
    }
}

std::string fixed_inputs(const api::TrainJob& job) {
    std::uint64_t hash = api::fnv1a("fixed");
    add_fixed_fields(hash, job);
    return api::hex(hash);
}

}  // namespace

// Queues set and remove these fields as they admit and evict.
Json fixed_patches(const Json& patches) {
    Json fixed = Json::array();
    for (const Json& patch : patches.items()) {
        Json spec = patch["trainingRuntimeSpec"];
        if (Json* of_job_set = spec.find("template")) {
            of_job_set->erase("metadata");
            Json* job_set_spec = of_job_set->find("spec");
            Json* jobs = job_set_spec ? job_set_spec->find("replicatedJobs") : nullptr;
            if (jobs && jobs->is_array()) {
                for (Json& job : jobs->items()) erase_open_fields(job);
                std::erase_if(jobs->items(), has_only_name);
            }
        }
        if (!is_empty_tree(spec))
            fixed.push_back(
                Json::object({{"manager", patch["manager"]}, {"trainingRuntimeSpec", std::move(spec)}}));
    }
    return fixed;
}

// Observed objects that the TrainJob controls follow from the other inputs, so only the other objects count.
std::string source_of(const Inputs& inputs) {
    std::uint64_t hash = api::fnv1a(to_json(inputs.runtime["spec"]));
    add_fixed_fields(hash, inputs.job);
    for (const api::Json& object : inputs.observed) {
        const api::ObjectMeta meta = api::parse_meta(object);
        if (meta.controller_uid == inputs.job.meta.uid) continue;
        add(hash, "metadata.name", meta.name);
        for (const auto& [name, value] : object.members())
            if (name != "metadata" && name != "status") add(hash, name, value);
    }
    return api::hex(hash);
}

std::string inputs_note(const api::TrainJob& job, bool builds_resumes) {
    std::uint64_t open = api::fnv1a("open");
    for (const char* name : {"labels", "annotations", "runtimePatches"})
        if (const Json* value = job.spec.find(name); value && !is_empty_tree(*value)) add(open, name, *value);
    return fixed_inputs(job) + "-" + api::hex(open) + (builds_resumes ? "+" : "");
}

bool has_same_fixed_inputs(std::string_view note, const api::TrainJob& job) {
    return note.substr(0, note.find('-')) == fixed_inputs(job);
}

}  // namespace runtime
