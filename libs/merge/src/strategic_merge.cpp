#include "merge/strategic_merge.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "merge/place.hpp"
#include "typed_patch.hpp"

namespace merge {
namespace {

using api::Json;
using api::Result;

std::string_view kind_of(const Json& value) {
    return value.is_object() ? "an object" : value.is_array() ? "a list" : "a scalar";
}

bool is_scalar(const Json& value) { return !value.is_object() && !value.is_array(); }

Result<> merge_objects(Json& base, const Json& patch, const Type* type, const Place& place);

// If the patch sets a member of a one-of group, drops the other members from the base. Otherwise the base
// keeps its member.
void drop_other_members(Json& base, const Json& patch, const Type& type) {
    const OneOf& group = type.one_of;
    if (group.members == OneOf::Members::none) return;
    const auto in_group = [&group](std::string_view name) {
        switch (group.members) {
            case OneOf::Members::none: return false;
            case OneOf::Members::all: return true;
            case OneOf::Members::all_but_name: return name != "name";
            case OneOf::Members::listed: return name == group.first || name == group.second;
        }
        return false;
    };
    const auto sets = [&](std::string_view name, const Json& value) {
        return in_group(name) && is_sent(value, find_field(&type, name));
    };
    const auto& members = patch.members();
    if (std::none_of(members.begin(), members.end(), [&](const auto& m) { return sets(m.key, m.value); }))
        return;
    base.members().erase_if([&](const auto& m) { return in_group(m.key) && !sets(m.key, patch[m.key]); });
}

// Returns the order of the merged items as positions. `named` has the positions of the patch's items, in its
// order; positions below `original` are items of the base. The other items of the base keep their order. A
// named item of the base stays behind the items that stood before it; new items come first.
// (normalizeElementOrder of kubectl and Go clients.)
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

// Reorders the items of a list by merged_order().
void put_in_order(Json& list, const std::vector<std::size_t>& named, std::size_t original) {
    // The usual case: no item is new, and the patch has the order of the base.
    if (std::is_sorted(named.begin(), named.end()) && list.items().size() == original) return;
    Json::Array ordered;
    ordered.reserve(list.items().size());
    for (const std::size_t position : merged_order(named, original))
        ordered.push_back(std::move(list.items()[position]));
    list = std::move(ordered);
}

// Maps the keys of a list's items to positions. The keys are views of the items, which must not move.
class Positions {
public:
    static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

    void reserve(std::size_t count) { entries_.reserve(count); }
    void add(std::string_view key) { entries_.push_back({key, nowhere}); }
    /// Call it once, after the last add().
    void finish() {
        std::sort(entries_.begin(), entries_.end(),
                  [](const Entry& a, const Entry& b) { return a.key < b.key; });
    }
    /// Returns nullptr for an unknown key; for equal keys always the same entry.
    std::size_t* find(std::string_view key) {
        const auto at =
            std::lower_bound(entries_.begin(), entries_.end(), key,
                             [](const Entry& entry, std::string_view k) { return entry.key < k; });
        return at != entries_.end() && at->key == key ? &at->position : nullptr;
    }

private:
    struct Entry {
        std::string_view key;
        std::size_t position;
    };
    std::vector<Entry> entries_;
};

// A limit for an item that a patch names more than once, since each time all of it may have to be walked: ten
// thousand names of an item of a megabyte would be ten gigabytes. Mounts with equal paths, the only ones that
// a schema admits, have few values.
constexpr std::size_t most_values_of_repeated = 100;

// Returns whether a tree has at most `left` values, and subtracts them.
bool fits(const Json& value, std::size_t& left) {
    if (left == 0) return false;
    --left;
    return std::all_of(value.items().begin(), value.items().end(),
                       [&](const Json& item) { return fits(item, left); }) &&
           std::all_of(value.members().begin(), value.members().end(),
                       [&](const auto& member) { return fits(member.value, left); });
}

bool is_small(const Json& value) {
    std::size_t left = most_values_of_repeated;
    return fits(value, left);
}

Result<> merge_by_key(Json& base, const Json& patch, const Field& field, const Place& place) {
    Positions positions;  // of the patch's keys in the base
    positions.reserve(patch.items().size());
    for (std::size_t i = 0; i < patch.items().size(); ++i) {
        const Json& item = patch.items()[i];
        if (item.is_null()) continue;
        const std::string_view key = item[field.key].as_string();
        if (key.empty())
            return api::invalid(Place{.outer = &place, .index = i}.text(),
                                "needs a " + std::string(field.key) + ", which it is merged by");
        positions.add(key);
    }
    positions.finish();
    Json::Array& items = base.items();
    const std::size_t original = items.size();
    for (std::size_t i = 0; i < original; ++i) {
        std::size_t* position = positions.find(std::as_const(items[i])[field.key].as_string());
        if (position && *position == Positions::nowhere) *position = i;
    }

    std::vector<std::size_t> named;
    named.reserve(patch.items().size());
    std::vector<bool> is_named(original + patch.items().size(), false);
    for (std::size_t i = 0; i < patch.items().size(); ++i) {
        const Json& item = patch.items()[i];
        if (item.is_null()) continue;
        std::size_t& position = *positions.find(item[field.key].as_string());
        if (position == Positions::nowhere) {
            position = items.size();
            items.push_back(as_typed_item(item, field.type));
        } else if (is_named[position] && !is_small(items[position])) {
            return api::invalid(Place{.outer = &place, .index = i}.text(),
                                "repeats the " + std::string(field.key) +
                                    " of an item that is too large to be merged twice: name it once");
        } else if (const auto merged =
                       merge_objects(items[position], item, field.type, {.outer = &place, .index = i});
                   !merged) {
            return merged.error();
        }
        if (!is_named[position]) named.push_back(position);
        is_named[position] = true;
    }
    put_in_order(base, named, original);
    return {};
}

void merge_as_set(Json& base, const Json& patch) {
    Json::Array& items = base.items();
    const std::size_t original = items.size();
    const auto less = [](const Json* left, const Json* right) { return *left < *right; };
    std::map<const Json*, std::size_t, decltype(less)> positions(less);
    items.reserve(original + patch.items().size());  // so that the items do not move
    for (std::size_t i = 0; i < original; ++i) positions.emplace(&items[i], i);
    std::vector<std::size_t> named;
    std::vector<bool> is_named(items.capacity(), false);
    for (const Json& entry : patch.items()) {
        if (entry.is_null()) continue;
        items.push_back(as_typed_item(entry, nullptr));
        const auto [place, is_new] = positions.emplace(&items.back(), items.size() - 1);
        if (!is_new) items.pop_back();
        if (!is_named[place->second]) named.push_back(place->second);
        is_named[place->second] = true;
    }
    put_in_order(base, named, original);
}

// `patch` is a value for which is_sent() is true.
Result<> merge_values(Json& base, const Json& patch, const Field* field, const Place& place) {
    const Strategy strategy = field ? field->strategy : Strategy::deep;
    if (base.empty() && is_scalar(base)) {  // absent, null or ""
        base = as_typed_value(patch, field);
        return {};
    }
    if (base.is_object() && patch.is_object()) {
        if (strategy != Strategy::literal_map)
            return merge_objects(base, patch, field ? field->type : nullptr, place);
        api::JsonMerger merged(base.members());
        for (const auto& [key, value] : patch.members())
            if (!value.is_null()) merged[key] = value;
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
    base = as_typed_value(patch, field);
    return {};
}

Result<> merge_objects(Json& base, const Json& patch, const Type* type, const Place& place) {
    if (!base.is_object() || !patch.is_object())
        return api::invalid(place.text(), "must be an object, here and in the runtime");
    if (type) drop_other_members(base, patch, *type);
    api::JsonMerger members(base.members());
    for (const auto& [name, value] : patch.members()) {
        const Field* field = find_field(type, name);
        if (!is_sent(value, field)) continue;
        const Place here = {.outer = &place, .member = name};
        if (const auto merged = merge_values(members[name], value, field, here); !merged)
            return merged.error();
    }
    return {};
}

}  // namespace

Result<Json> strategic_merge(Json base, const Json& patch, const Type& type) {
    if (patch.is_null()) return base;
    if (base.is_null()) base = Json::object();
    if (const auto merged = merge_objects(base, patch, &type, Place()); !merged) return merged.error();
    return base;
}

}  // namespace merge
