#include <map>
#include <optional>

#include "merge/json_patch.hpp"
#include "runtime/admission.hpp"
#include "runtime/compare.hpp"
#include "shape.hpp"

namespace runtime {
namespace {

using api::Json;
using ByManager = std::map<std::string_view, const Json*>;

// nullopt: not a list of objects with a manager each, or too long: each costs an operation. The schema will
// say so.
std::optional<ByManager> by_manager(const Json& patches) {
    if (!patches.is_null() && !patches.is_array()) return std::nullopt;
    if (patches.items().size() > max_runtime_patches) return std::nullopt;
    ByManager managers;
    for (const Json& patch : patches.items())
        if (!patch["manager"].is_string() || !managers.emplace(patch["manager"].as_string(), &patch).second)
            return std::nullopt;
    return managers;
}

// What the time stamp ought to be; null: none.
const Json& wanted_time(const Json& patch, const Json* old_patch, const Json& now) {
    if (!old_patch) return patch["time"].is_null() ? now : patch["time"];
    // Applying a manifest again is no change, also if it has no time stamp, or an older one.
    if (is_equivalent_but_for("time", patch, *old_patch)) return (*old_patch)["time"];
    return now;
}

}  // namespace

std::vector<Json> mutate_train_job(const Json& object, const Json& old_object, api::Time now) {
    const Json& patches = object["spec"]["runtimePatches"];
    const auto managers = by_manager(patches);
    const auto old_managers = by_manager(old_object["spec"]["runtimePatches"]);
    if (!managers || !old_managers) return {};

    const Json stamp = api::format_time(now);
    std::vector<Json> operations;
    for (std::size_t i = 0; i < patches.items().size(); ++i) {
        const Json& patch = patches[i];
        const auto old = old_managers->find(patch["manager"].as_string());
        const Json& wanted = wanted_time(patch, old == old_managers->end() ? nullptr : old->second, stamp);
        if (wanted == patch["time"]) continue;
        const auto where = merge::JsonPointer() / "spec" / "runtimePatches" / i / "time";
        operations.push_back(wanted.is_null() ? merge::remove_operation(where)
                                              : merge::add_operation(where, wanted));
    }
    return operations;
}

}  // namespace runtime
