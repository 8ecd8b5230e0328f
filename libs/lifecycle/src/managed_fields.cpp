#include "managed_fields.hpp"

#include <algorithm>

#include "api/names.hpp"

namespace lifecycle {
namespace {

std::string field(std::string_view name) { return std::string("f:").append(name); }

std::string named(std::string_view name) { return "k:" + to_json(api::Json::object({{"name", name}})); }

bool is_own_apply(const api::Json& entry) {
    return entry["manager"].as_string() == api::field_manager && entry["operation"].as_string() == "Apply" &&
           entry["subresource"].as_string().empty();
}

}  // namespace

ManagedFields ManagedFields::step(const std::string& key) const {
    if (everything_) return *this;
    std::vector<const api::Json*> below;
    for (const api::Json* fields : fields_)
        if (const api::Json* found = fields->find(key)) below.push_back(found);
    return ManagedFields(std::move(below));
}

bool ManagedFields::has(const std::string& key) const {
    return everything_ || std::any_of(fields_.begin(), fields_.end(),
                                      [&](const api::Json* fields) { return fields->contains(key); });
}

// The entry of an atomic field has no members.
ManagedFields ManagedFields::of_atomic() const {
    const bool whole =
        std::any_of(fields_.begin(), fields_.end(), [](const api::Json* fields) { return fields->empty(); });
    return whole ? of_everything() : *this;
}

ManagedFields ManagedFields::member(std::string_view name) const { return step(field(name)); }
ManagedFields ManagedFields::item(std::string_view name) const { return step(named(name)); }
bool ManagedFields::has_member(std::string_view name) const { return has(field(name)); }
bool ManagedFields::has_item(std::string_view name) const { return has(named(name)); }

// Merge patches of this controller are entries of their own (operation Update). They only write `suspend`, a
// note about it, and status.
ManagedFields applied_here(const api::Json& object) {
    std::vector<const api::Json*> entries;
    for (const api::Json& entry : object["metadata"]["managedFields"].items())
        if (is_own_apply(entry)) entries.push_back(&entry["fieldsV1"]);
    return entries.empty() ? ManagedFields::of_everything() : ManagedFields(std::move(entries));
}

bool only_own_applies_set(const api::Json& object, std::string_view name) {
    bool found = false;
    for (const api::Json& entry : object["metadata"]["managedFields"].items()) {
        if (!entry["fieldsV1"]["f:spec"].contains(field(name))) continue;
        if (!is_own_apply(entry)) return false;
        found = true;
    }
    return found;
}

}  // namespace lifecycle
