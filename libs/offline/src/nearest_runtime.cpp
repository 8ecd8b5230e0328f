#include <algorithm>

#include "api/names.hpp"
#include "api/nearest.hpp"
#include "offline/input.hpp"

namespace offline {

std::string suggest_runtime(const api::RuntimeRef& wanted, const std::string& ns,
                            const std::vector<InputObject>& known) {
    const auto named = [&](bool same_kind) {
        const auto at = std::find_if(known.begin(), known.end(), [&](const InputObject& each) {
            return each.is_ours && each.kind != api::train_job_kind && each.key.name == wanted.name &&
                   (each.kind == wanted.kind) == same_kind;
        });
        return at == known.end() ? nullptr : &*at;
    };
    const InputObject* other = named(false);
    if (other && (other->key.ns.empty() || other->key.ns == ns))
        return "there is a " + other->kind + " \"" + wanted.name + "\": set spec.runtimeRef.kind to " +
               other->kind;
    const InputObject* elsewhere = named(true);
    if (elsewhere && elsewhere->key.ns != ns)
        return elsewhere->name() + " is there, but the TrainJob is in namespace \"" + ns + "\"";
    api::Nearest nearest(wanted.name);
    for (const InputObject& each : known)
        if (each.is_ours && each.kind == wanted.kind && (each.key.ns.empty() || each.key.ns == ns))
            nearest.offer(each.key.name);
    if (nearest.found().empty()) return "";
    return "did you mean " + wanted.kind + " \"" + nearest.found() + "\"?";
}

}  // namespace offline
