#pragma once
#include <string_view>
#include <vector>

#include "api/json.hpp"

namespace lifecycle {

/// The part of an object that this controller has applied, at one place in it: the FieldsV1 of server-side
/// apply ("f:spec", and `k:{"name":"node"}` for an item of a list that is a map). Refers to the object that
/// it was read from.
class ManagedFields {
public:
    /// Returns the part that has every field: for objects whose managedFields do not name this controller.
    static ManagedFields of_everything() { return ManagedFields({}, true); }
    explicit ManagedFields(std::vector<const api::Json*> fields) : ManagedFields(std::move(fields), false) {}

    ManagedFields member(std::string_view name) const;
    ManagedFields item(std::string_view name) const;  ///< of a list with the key `name`

    /// Returns the same part of a map or list that is atomic by its schema: it is owned as a whole.
    ManagedFields of_atomic() const;

    bool has_member(std::string_view name) const;
    bool has_item(std::string_view name) const;

private:
    ManagedFields(std::vector<const api::Json*> fields, bool everything)
        : fields_(std::move(fields)), everything_(everything) {}
    ManagedFields step(const std::string& key) const;
    bool has(const std::string& key) const;

    std::vector<const api::Json*> fields_;  // of each entry that has something here; mostly there is one
    bool everything_;
};

/// Returns what this controller has put into the object by server-side apply.
ManagedFields applied_here(const api::Json& object);

/// Returns whether only server-side applies of this controller have set `spec.<name>`, and no later writer.
bool only_own_applies_set(const api::Json& object, std::string_view name);

}  // namespace lifecycle
