#include "admission/reapply.hpp"

#include <algorithm>

#include "merge/json_patch.hpp"

namespace runtime {
namespace {

using api::Json;
using Managers = std::vector<std::string_view>;

// Where kubectl notes the manifest, and under which name it applies.
constexpr std::string_view last_applied = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::string_view applier = "kubectl-client-side-apply";

const Json& note_of(const Json& object) { return object["metadata"]["annotations"][last_applied]; }

// Null if there is no manifest that can be read.
Json manifest_of(const Json& object) {
    auto manifest = api::parse_json(note_of(object).as_string());
    return manifest ? std::move(*manifest) : Json();
}

Managers managers_of(const Json& object) {
    Managers managers;
    for (const Json& entry : object["spec"]["runtimePatches"].items())
        managers.push_back(entry["manager"].as_string());
    return managers;
}

bool contains(const Managers& managers, std::string_view manager) {
    return std::find(managers.begin(), managers.end(), manager) != managers.end();
}

// Other tools that apply so have other names; a new note shows them.
bool is_client_side_apply(const Json& object, const Json& old_object, const Writer& writer) {
    return writer.field_manager == applier || !(note_of(object) == note_of(old_object));
}

}  // namespace

std::vector<Json> restore_entries(const Json& object, const Json& old_object, const Writer& writer) {
    const Managers before = managers_of(old_object);
    Managers now = managers_of(object);
    if (std::all_of(before.begin(), before.end(), [&](auto manager) { return contains(now, manager); }))
        return {};
    if (note_of(object).is_null() || !is_client_side_apply(object, old_object, writer)) return {};
    const Json manifest = manifest_of(object), manifest_before = manifest_of(old_object);
    // Whatever wrote another list than the manifest's meant it.
    if (manifest.is_null() || now != managers_of(manifest)) return {};
    const Managers applied_before = managers_of(manifest_before);

    const auto list = merge::JsonPointer() / "spec" / "runtimePatches";
    std::vector<Json> operations;
    if (!object["spec"]["runtimePatches"].is_array())
        operations.push_back(merge::add_operation(list, Json::array()));
    const std::size_t none = operations.size();
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (contains(now, before[i]) || contains(applied_before, before[i])) continue;
        // Later entries win, so that it stays before those that followed it.
        const auto place = std::find_if(now.begin(), now.end(), [&](auto manager) {
            return std::find(before.begin() + static_cast<std::ptrdiff_t>(i), before.end(), manager) !=
                   before.end();
        });
        const auto index = static_cast<std::size_t>(place - now.begin());
        operations.push_back(merge::add_operation(list / index, old_object["spec"]["runtimePatches"][i]));
        now.insert(place, before[i]);
    }
    return operations.size() > none ? operations : std::vector<Json>();
}

}  // namespace runtime
