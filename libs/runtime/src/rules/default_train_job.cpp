#include <algorithm>
#include <map>
#include <optional>

#include "api/names.hpp"
#include "merge/json_patch.hpp"
#include "rules/restore.hpp"
#include "runtime/compare.hpp"
#include "runtime/validation.hpp"
#include "template/shape.hpp"

namespace runtime {
namespace {

using api::Json;
using ByManager = std::map<std::string_view, const Json*>;

// Returns patches by manager; nullopt for a list that the schema refuses: patches without a manager of their
// own, or too many of them, since each costs an operation.
std::optional<ByManager> by_manager(const Json& patches) {
    if (!patches.is_null() && !patches.is_array()) return std::nullopt;
    if (patches.items().size() > max_runtime_patches) return std::nullopt;
    ByManager managers;
    for (const Json& patch : patches.items())
        if (!patch["manager"].is_string() || !managers.emplace(patch["manager"].as_string(), &patch).second)
            return std::nullopt;
    return managers;
}

// Returns whether two patches of one manager are the same but for `trainingRuntimeSpec` and `time`.
bool is_same_otherwise(const Json& patch, const Json& old_patch) {
    const auto covers = [](const Json& a, const Json& b) {
        return std::all_of(a.members().begin(), a.members().end(), [&b](const auto& member) {
            return member.key == "time" || member.key == "trainingRuntimeSpec" ||
                   is_equivalent(member.value, b[member.key]);
        });
    };
    return covers(patch, old_patch) && covers(old_patch, patch);
}

// Returns the time stamp that a patch should have; null: none. In a restored patch, `trainingRuntimeSpec` is
// the stored one.
const Json& wanted_time(const Json& patch, const Json* old_patch, bool restored, const Json& now) {
    if (!old_patch) return patch["time"].is_null() ? now : patch["time"];
    // Applying a manifest again is no change, also if it has no time stamp, or an older one.
    const bool is_same =
        restored ? is_same_otherwise(patch, *old_patch) : is_equivalent_but_for({"time"}, patch, *old_patch);
    return is_same ? (*old_patch)["time"] : now;
}

// The causes for which fields are restored, as metrics name them.
constexpr std::string_view typed_client = "typed_client";
constexpr std::string_view reapply = "reapply";

// Adds an operation that restores a field. Metrics count a field that is not in the table as "other", since a
// client can write any name.
void restore(Mutation& mutation, Json operation, std::string_view field, std::string_view cause) {
    mutation.operations.push_back(std::move(operation));
    const auto known = std::find(std::begin(restored_fields), std::end(restored_fields) - 1, field);
    mutation.restored.push_back({.field = *known, .cause = cause});
}

// Restores what the writer lost of the spec, without the list of patches.
void restore_spec(const Json& spec, const Json& old_spec, const Writer& writer, Mutation& mutation) {
    const auto where = merge::JsonPointer() / "spec";
    if (only_lost_in_writing(old_spec["trainer"], spec["trainer"], trainer_type(), writer.is_lossy))
        restore(mutation, merge::add_operation(where / "trainer", old_spec["trainer"]), "trainer",
                typed_client);
    const Json rest = rest_of_spec(spec), old_rest = rest_of_spec(old_spec);
    if (only_lost_in_writing(old_rest, rest, rest_of_spec_type(), writer.is_lossy))
        for (const auto& [name, value] : old_rest.members())
            if (!(std::as_const(rest)[name] == value))
                restore(mutation, merge::add_operation(where / name, value), name, typed_client);
}

}  // namespace

Mutation default_train_job(const Json& object, const Json& old_object, api::Time now, const Writer& writer) {
    const Json& spec = object["spec"];
    const Json& old_spec = old_object["spec"];
    const Json& patches = spec["runtimePatches"];
    const auto managers = by_manager(patches);
    const auto old_managers = by_manager(old_spec["runtimePatches"]);
    if (!managers || !old_managers) return {};

    const Json stamp = api::format_time(now);
    Mutation mutation;
    if (old_spec.is_object() && !writer.corrects) restore_spec(spec, old_spec, writer, mutation);
    for (std::size_t i = 0; i < patches.items().size(); ++i) {
        const Json& patch = patches[i];
        const std::string_view manager = patch["manager"].as_string();
        const auto where = merge::JsonPointer() / "spec" / "runtimePatches" / i;
        const auto at = old_managers->find(manager);
        const Json* old = at == old_managers->end() ? nullptr : at->second;
        // Kueue writes its own patch as a whole, so nothing of it is lost.
        const bool lossy = writer.is_lossy && manager != api::kueue_manager;
        const bool restored = old && !writer.corrects &&
                              only_lost_in_writing((*old)["trainingRuntimeSpec"],
                                                   patch["trainingRuntimeSpec"], patch_type(), lossy);
        if (restored)
            restore(mutation,
                    merge::add_operation(where / "trainingRuntimeSpec", (*old)["trainingRuntimeSpec"]),
                    "runtimePatches", typed_client);
        const Json& wanted = wanted_time(patch, old, restored, stamp);
        if (wanted == patch["time"]) continue;
        mutation.operations.push_back(wanted.is_null() ? merge::remove_operation(where / "time")
                                                       : merge::add_operation(where / "time", wanted));
    }
    for (Json& operation : restore_entries(object, old_object, writer)) {
        const bool is_entry = std::as_const(operation)["value"].is_object();  // or the list to hold them
        if (is_entry)
            restore(mutation, std::move(operation), "runtimePatches", reapply);
        else
            mutation.operations.push_back(std::move(operation));
    }
    return mutation;
}

}  // namespace runtime
