#include "merge/strategic_merge.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "merge/place.hpp"

namespace merge {
namespace {

using api::Json;
using api::Result;

std::string_view kind_of(const Json& value) {
    return value.is_object() ? "an object" : value.is_array() ? "a list" : "a scalar";
}

bool is_scalar(const Json& value) { return !value.is_object() && !value.is_array(); }

Result<> merge_objects(Json& base, const Json& patch, const Type* type, const Place& place);

// The patch's member of a one-of group takes the place of the others; a patch that sets none leaves the
// base's.
void drop_other_members(Json& base, const Json& patch, const OneOf& group) {
    const auto in_group = [&group](std::string_view name) {
        switch (group.members) {
            case OneOf::Members::none: return false;
            case OneOf::Members::all: return true;
            case OneOf::Members::all_but_name: return name != "name";
            case OneOf::Members::listed: return name == group.first || name == group.second;
        }
        return false;
    };
    const auto& set = patch.members();
    const bool sets_one = std::any_of(set.begin(), set.end(), [&](const auto& m) { return in_group(m.key); });
    if (!sets_one) return;
    base.members().erase_if([&](const auto& m) { return in_group(m.key) && !patch.contains(m.key); });
}

// Which of the merged items come in which order, as positions. `named` are those that the patch names, in its
// order; positions below `original` were in the base. The rest of the base follows its own order, but a named
// item of the base stays behind what stood before it; new items come first. (kubectl's and Go clients'
// normalizeElementOrder.)
std::vector<std::size_t> merged_order(const std::vector<std::size_t>& named, std::size_t original) {
    std::vector<bool> is_named(original, false);
    for (const std::size_t position : named)
        if (position < original) is_named[position] = true;
    std::vector<std::size_t> rest;
    for (std::size_t position = 0; position < original; ++position)
        if (!is_named[position]) rest.push_back(position);

    std::vector<std::size_t> order;
    auto left = rest.begin();
    for (const std::size_t position : named) {
        while (left != rest.end() && position < original && position > *left) order.push_back(*left++);
        order.push_back(position);
    }
    order.insert(order.end(), left, rest.end());
    return order;
}

Json::Array taken_in_order(Json::Array& items, const std::vector<std::size_t>& order) {
    Json::Array result;
    result.reserve(order.size());
    for (const std::size_t position : order) result.push_back(std::move(items[position]));
    return result;
}

Result<> merge_by_key(Json& base, const Json& patch, const Field& field, const Place& place) {
    constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
    // The keys are views of the patch, which stays as it is; those of the base move when its items grow.
    std::unordered_map<std::string_view, std::size_t> positions;
    for (std::size_t i = 0; i < patch.items().size(); ++i) {
        const std::string_view key = patch.items()[i][field.key].as_string();
        if (key.empty())
            return api::invalid(Place{.outer = &place, .index = i}.text(),
                                "needs a " + std::string(field.key) + ", which it is merged by");
        positions.emplace(key, nowhere);
    }
    Json::Array& items = base.items();
    const std::size_t original = items.size();
    for (std::size_t i = 0; i < original; ++i) {
        const auto known = positions.find(std::as_const(items[i])[field.key].as_string());
        if (known != positions.end() && known->second == nowhere) known->second = i;
    }

    std::vector<std::size_t> named;
    std::vector<bool> is_named(original + patch.items().size(), false);
    for (std::size_t i = 0; i < patch.items().size(); ++i) {
        const Json& item = patch.items()[i];
        std::size_t& position = positions[item[field.key].as_string()];
        if (position == nowhere) {
            position = items.size();
            items.push_back(item);
        } else if (const auto merged =
                       merge_objects(items[position], item, field.type, {.outer = &place, .index = i});
                   !merged) {
            return merged.error();
        }
        if (!is_named[position]) named.push_back(position);
        is_named[position] = true;
    }
    base = taken_in_order(items, merged_order(named, original));
    return {};
}

void merge_as_set(Json& base, const Json& patch) {
    Json::Array& items = base.items();
    const std::size_t original = items.size();
    std::vector<std::size_t> named;
    for (const Json& item : patch.items()) {
        const auto position =
            static_cast<std::size_t>(std::find(items.begin(), items.end(), item) - items.begin());
        if (position == items.size()) items.push_back(item);
        if (std::find(named.begin(), named.end(), position) == named.end()) named.push_back(position);
    }
    base = taken_in_order(items, merged_order(named, original));
}

Result<> merge_values(Json& base, const Json& patch, const Field* field, const Place& place) {
    const Strategy strategy = field ? field->strategy : Strategy::deep;
    if (base.empty() && is_scalar(base)) {  // absent, null or ""
        base = patch;
        return {};
    }
    if (base.is_object() && patch.is_object()) {
        if (strategy != Strategy::literal_map)
            return merge_objects(base, patch, field ? field->type : nullptr, place);
        for (const auto& [key, value] : patch.members()) base[key] = value;
        return {};
    }
    if (base.is_array() && patch.is_array()) {
        if (strategy == Strategy::by_key && !base.empty()) return merge_by_key(base, patch, *field, place);
        if (strategy == Strategy::as_set) {
            merge_as_set(base, patch);
            return {};
        }
    } else if (!is_scalar(base) || !is_scalar(patch)) {
        return api::invalid(place.text(), "must be " + std::string(kind_of(base)) + ", not " +
                                              std::string(kind_of(patch)) +
                                              ": that is what the runtime has there");
    }
    base = patch;
    return {};
}

Result<> merge_objects(Json& base, const Json& patch, const Type* type, const Place& place) {
    if (!base.is_object() || !patch.is_object())
        return api::invalid(place.text(), "must be an object, here and in the runtime");
    if (type) drop_other_members(base, patch, type->one_of);
    for (const auto& [name, value] : patch.members()) {
        const Place here = {.outer = &place, .member = name};
        if (const auto merged = merge_values(base[name], value, find_field(type, name), here); !merged)
            return merged.error();
    }
    return {};
}

}  // namespace

Result<Json> strategic_merge(Json base, const Json& patch, const Type& type) {
    const Json typed = as_typed_patch(patch, type);
    if (typed.is_null()) return base;
    if (base.is_null()) base = Json::object();
    if (const auto merged = merge_objects(base, typed, &type, Place()); !merged) return merged.error();
    return base;
}

}  // namespace merge
