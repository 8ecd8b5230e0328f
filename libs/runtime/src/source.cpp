#include "runtime/source.hpp"

#include "api/hash.hpp"

namespace runtime {

// Of what was observed, objects of ours follow from the rest, and others are what they say.
std::string source_of(const Inputs& inputs) {
    std::uint64_t hash = api::fnv1a(to_json(inputs.runtime["spec"]));
    const auto add = [&hash](std::string_view name, const api::Json& value) {
        hash = api::fnv1a(to_json(value), api::fnv1a(name, hash));
    };
    for (const auto& [name, value] : inputs.job.spec.members())
        if (name != "suspend") add(name, value);
    for (const api::Json& object : inputs.observed) {
        const api::ObjectMeta meta = api::parse_meta(object);
        if (meta.controller_uid == inputs.job.meta.uid) continue;
        add("metadata.name", meta.name);
        for (const auto& [name, value] : object.members())
            if (name != "metadata" && name != "status") add(name, value);
    }
    return api::hex(hash);
}

}  // namespace runtime
