#include "typed_patch.hpp"

#include <algorithm>

namespace merge {
namespace {

using api::Json;

bool is_zero(const Json& value) {
    return value.empty() || (value.is_bool() && !value.bool_or(true)) ||
           (value.is_number() && value.as_double() == 0.0);
}

Json typed_object(const Json& patch, const Type* type) {
    Json::Object::Members kept;
    kept.reserve(patch.members().size());
    for (const auto& [name, value] : patch.members())
        if (const Field* field = find_field(type, name); is_sent(value, field))
            kept.push_back({name, as_typed_value(value, field)});
    return Json::Object(std::move(kept));
}

}  // namespace

bool is_sent(const Json& value, const Field* field) {
    const Strategy strategy = field ? field->strategy : Strategy::deep;
    // Null is no valid item of any list.
    if (value.is_array())
        return std::any_of(value.items().begin(), value.items().end(),
                           [](const Json& item) { return !item.is_null(); });
    if (value.is_object() && strategy == Strategy::literal_map)
        return std::any_of(value.members().begin(), value.members().end(),
                           [](const auto& member) { return !member.value.is_null(); });
    // An empty object is a pointer to an empty struct, which Go encodes: `emptyDir: {}`.
    return value.is_object() || (!value.is_null() && (strategy == Strategy::keep_zero || !is_zero(value)));
}

Json as_typed_value(const Json& value, const Field* field) {
    if (value.is_array()) {
        Json::Array kept;
        kept.reserve(value.items().size());
        for (const Json& item : value.items())
            if (!item.is_null()) kept.push_back(as_typed_item(item, field ? field->type : nullptr));
        return kept;
    }
    if (!value.is_object()) return value;
    if (!field || field->strategy != Strategy::literal_map)
        return typed_object(value, field ? field->type : nullptr);
    Json::Object::Members kept;
    for (const auto& member : value.members())
        if (!member.value.is_null()) kept.push_back(member);
    return Json::Object(std::move(kept));
}

// Go always encodes the scalars of a list, also zeros.
Json as_typed_item(const Json& item, const Type* type) {
    return item.is_object() ? typed_object(item, type) : item;
}

}  // namespace merge
