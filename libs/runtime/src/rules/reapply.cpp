#include "rules/restore.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "api/names.hpp"
#include "merge/json_patch.hpp"

namespace runtime {
namespace {

using api::Json;
using Managers = std::vector<std::string_view>;

// The annotation in which a client-side apply notes the manifest, and the field managers of such applies by
// kubectl and Argo CD.
constexpr std::string_view last_applied = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::string_view appliers[] = {"kubectl-client-side-apply", "argocd-controller"};

const Json& note_of(const Json& object) { return object["metadata"]["annotations"][last_applied]; }

// Returns the manifest that an apply noted; null if there is none that can be read.
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

// Returns whether the write is a client-side apply. Other tools than those above have other field managers,
// but leave a new note.
bool is_client_side_apply(const Json& object, const Json& old_object, const Writer& writer) {
    return std::find(std::begin(appliers), std::end(appliers), writer.field_manager) != std::end(appliers) ||
           !(note_of(object) == note_of(old_object));
}

// Returns the managers of patches in the manifest before, if this write applies a manifest; nullopt if it is
// another kind of write, or writes another list of patches than its manifest has: then the list is meant.
std::optional<std::set<std::string>> managers_applied_before(const Json& object, const Json& old_object,
                                                             const Writer& writer) {
    if (note_of(object).is_null() || !is_client_side_apply(object, old_object, writer)) return std::nullopt;
    const Json manifest = manifest_of(object), manifest_before = manifest_of(old_object);
    if (manifest.is_null() || managers_of(object) != managers_of(manifest)) return std::nullopt;
    const Managers managers = managers_of(manifest_before);
    return std::set<std::string>(managers.begin(), managers.end());
}

// Kueue never removes its entry, and admits no job that has lost it.
bool is_queued(const Json& object) {
    return !object["metadata"]["labels"][api::queue_label].as_string().empty();
}

}  // namespace

std::vector<Json> restore_entries(const Json& object, const Json& old_object, const Writer& writer) {
    const Managers before = managers_of(old_object);
    Managers now = managers_of(object);
    if (std::all_of(before.begin(), before.end(), [&](auto manager) { return contains(now, manager); }))
        return {};
    const auto applied_before = managers_applied_before(object, old_object, writer);
    const auto is_restored = [&](std::string_view manager) {
        return (manager == api::kueue_manager && is_queued(object)) ||
               (applied_before && !applied_before->contains(std::string(manager)));
    };

    const auto list = merge::JsonPointer() / "spec" / "runtimePatches";
    std::vector<Json> operations;
    if (!object["spec"]["runtimePatches"].is_array())
        operations.push_back(merge::add_operation(list, Json::array()));
    const std::size_t none = operations.size();
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (contains(now, before[i]) || !is_restored(before[i])) continue;
        // Later entries win, so the restored one goes before those that followed it.
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
