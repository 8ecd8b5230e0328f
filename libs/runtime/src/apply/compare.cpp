#include "runtime/compare.hpp"

#include <algorithm>

#include "api/quantity.hpp"

namespace runtime {
namespace {

using api::Json;

// Members of a map with one of these names, or the scalar of that name itself, are quantities.
constexpr std::string_view quantity_names[] = {"limits",   "requests",  "minResources",
                                               "overhead", "sizeLimit", "divisor"};

// Maps, and structs without a pointer: Go's encoder may write or omit them when they are empty. For any other
// object the API distinguishes empty and absent: an empty selector selects all, an empty volume source sets
// the type.
constexpr std::string_view plain_objects[] = {
    // In a JobSet; tests/cluster/admission/test_merge.py compares them with Go's types.
    "allocatedResourceStatuses", "allocatedResources", "annotations", "capacity", "labels", "limits",
    "matchLabels", "metadata", "nodeSelector", "options", "overhead", "podAffinityTerm", "preference",
    "requests", "resources", "spec", "status", "template", "userAnnotations", "volumeAttributes",
    // In other kinds.
    "binaryData", "data", "minResources", "trainingRuntimeSpec"};

bool is_plain(std::string_view name) {
    return std::find(std::begin(plain_objects), std::end(plain_objects), name) != std::end(plain_objects);
}

bool same_scalar(const Json& left, const Json& right, bool quantity) {
    if (left == right) return true;
    return quantity && is_same_quantity(left, right);
}

// Returns whether a value means the same as an absent one: null, an empty list, or a plain object with such
// members only.
bool is_like_absent(std::string_view name, const Json& value) {
    if (value.is_object())
        return is_plain(name) && std::all_of(value.members().begin(), value.members().end(),
                                             [](const auto& m) { return is_like_absent(m.key, m.value); });
    return value.is_null() || (value.is_array() && value.empty());
}

bool contained(std::string_view name, const Json& desired, const Json& live, bool quantity);

bool contained_anywhere(const Json& item, const Json& live_list) {
    const auto& items = live_list.items();
    return std::any_of(items.begin(), items.end(),
                       [&item](const Json& live) { return contained({}, item, live, false); });
}

bool contained_list(std::string_view name, const Json& desired, const Json& live) {
    const auto& items = desired.items();
    if (name == "ownerReferences")
        return std::all_of(items.begin(), items.end(),
                           [&live](const Json& item) { return contained_anywhere(item, live); });
    return std::equal(items.begin(), items.end(), live.items().begin(), live.items().end(),
                      [](const Json& a, const Json& b) { return contained({}, a, b, false); });
}

bool contained(std::string_view name, const Json& desired, const Json& live, bool quantity) {
    if (desired.is_object() && (live.is_object() || live.is_null())) {
        if (live.is_null() && !name.empty() && !is_plain(name)) return false;
        const bool quantities = holds_quantities(name);
        return std::all_of(desired.members().begin(), desired.members().end(), [&](const auto& member) {
            return contained(member.key, member.value, live[member.key],
                             quantities || holds_quantities(member.key));
        });
    }
    if (desired.is_array() && (live.is_array() || live.is_null())) return contained_list(name, desired, live);
    if (desired.empty() && live.is_null()) return true;
    return same_scalar(desired, live, quantity);
}

bool equivalent(std::string_view name, const Json& left, const Json& right, bool quantity);

using Names = std::initializer_list<std::string_view>;

// Compares two objects. `but_for` names members to ignore.
bool equivalent_members(const Json& left, const Json& right, bool quantities, Names but_for) {
    const auto covers = [&](const Json& a, const Json& b, bool values) {
        return std::all_of(a.members().begin(), a.members().end(), [&](const auto& member) {
            if (std::find(but_for.begin(), but_for.end(), member.key) != but_for.end()) return true;
            const Json* other = b.find(member.key);
            if (!other) return is_like_absent(member.key, member.value);
            return !values ||
                   equivalent(member.key, member.value, *other, quantities || holds_quantities(member.key));
        });
    };
    return covers(left, right, true) && covers(right, left, false);
}

// Walks members of equal kind once. Only for members without counterpart it checks whether they are empty.
bool equivalent(std::string_view name, const Json& left, const Json& right, bool quantity) {
    if (left.is_object() && right.is_object())
        return equivalent_members(left, right, holds_quantities(name), {});
    if (left.is_array() && right.is_array())
        return std::equal(left.items().begin(), left.items().end(), right.items().begin(),
                          right.items().end(),
                          [](const Json& a, const Json& b) { return equivalent({}, a, b, false); });
    if (is_like_absent(name, left) || is_like_absent(name, right))
        return is_like_absent(name, left) && is_like_absent(name, right);
    return same_scalar(left, right, quantity);
}

}  // namespace

bool holds_quantities(std::string_view name) {
    return std::find(std::begin(quantity_names), std::end(quantity_names), name) != std::end(quantity_names);
}

bool is_same_quantity(const Json& left, const Json& right) {
    const auto a = api::parse_quantity(left);
    const auto b = api::parse_quantity(right);
    return a && b && *a == *b;
}

bool is_contained(const Json& desired, const Json& live) { return contained({}, desired, live, false); }

bool is_equivalent(const Json& left, const Json& right) { return equivalent({}, left, right, false); }

bool is_equivalent_but_for(Names names, const Json& left, const Json& right) {
    const bool objects = left.is_object() && right.is_object();
    return objects ? equivalent_members(left, right, false, names) : is_equivalent(left, right);
}

}  // namespace runtime
