// What Go's encoder would leave of a patch that passed through the typed structs: `omitempty` drops what is
// zero.
#include "merge/strategic_merge.hpp"

namespace merge {
namespace {

using api::Json;

bool is_zero(const Json& value) {
    return value.empty() || (value.is_bool() && !value.bool_or(true)) ||
           (value.is_number() && value.as_double() == 0.0);
}

Json without_nulls(const Json& map) {
    Json::Object::Members kept;
    for (const auto& member : map.members())
        if (!member.value.is_null()) kept.push_back(member);
    return Json::Object(std::move(kept));
}

Json cleaned_list(const Json& list, const Type* item_type) {
    Json::Array kept;
    kept.reserve(list.items().size());
    // Scalars in a list are always encoded, also zeros; null is not a value of any item type.
    for (const Json& item : list.items())
        if (item.is_object())
            kept.push_back(as_typed_patch(item, item_type ? *item_type : Type()));
        else if (!item.is_null())
            kept.push_back(item);
    return kept;
}

}  // namespace

Json as_typed_patch(const Json& patch, const Type& type) {
    if (!patch.is_object()) return patch;
    Json::Object::Members kept;
    kept.reserve(patch.members().size());
    for (const auto& [name, value] : patch.members()) {
        const Field* field = find_field(&type, name);
        const Strategy strategy = field ? field->strategy : Strategy::deep;
        if (value.is_array()) {
            if (Json list = cleaned_list(value, field ? field->type : nullptr); !list.empty())
                kept.push_back({name, std::move(list)});
        } else if (value.is_object() && strategy == Strategy::literal_map) {
            if (Json map = without_nulls(value); !map.empty()) kept.push_back({name, std::move(map)});
        } else if (value.is_object()) {
            // An empty object is a pointer to an empty struct, which is sent: `emptyDir: {}`.
            kept.push_back({name, as_typed_patch(value, field && field->type ? *field->type : Type())});
        } else if (!value.is_null() && (strategy == Strategy::keep_zero || !is_zero(value))) {
            kept.push_back({name, value});
        }
    }
    return Json::Object(std::move(kept));
}

}  // namespace merge
