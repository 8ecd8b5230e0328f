#include "field_set.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace model {
namespace {

using api::Json;
using Keys = std::vector<std::string_view>;

// Returns the keys of a list that is a map; empty for an atomic list.
const Keys& list_keys(std::string_view name) {
    static const std::map<std::string_view, Keys> known = {{"replicatedJobs", {"name"}},
                                                           {"containers", {"name"}},
                                                           {"initContainers", {"name"}},
                                                           {"env", {"name"}},
                                                           {"volumes", {"name"}},
                                                           {"schedulingGates", {"name"}},
                                                           {"imagePullSecrets", {"name"}},
                                                           {"volumeMounts", {"mountPath"}},
                                                           {"ports", {"containerPort", "protocol"}},
                                                           {"ownerReferences", {"uid"}},
                                                           {"conditions", {"type"}},
                                                           {"replicatedJobsStatus", {"name"}},
                                                           {"dependsOn", {"name"}},
                                                           {"jobsStatus", {"name"}},
                                                           {"claims", {"name"}}};
    static const Keys atomic;
    const auto at = known.find(name);
    return at == known.end() ? atomic : at->second;
}

bool is_atomic_map(std::string_view name) {
    return name == "nodeSelector" || name == "selector" || name == "labelSelector";
}

// Lists whose items are their own keys.
bool is_set(std::string_view list) { return list == "finalizers"; }

// Fields that are owned as a whole.
bool is_atomic_item(std::string_view list) {
    return list == "ownerReferences" || list == "imagePullSecrets" || is_set(list);
}

bool is_keyed(std::string_view list) { return is_set(list) || !list_keys(list).empty(); }

std::string item_key(const Json& item, const Keys& keys) {
    if (keys.empty()) return "v:" + to_json(item);
    Json key = Json::object();
    for (const std::string_view name : keys) key[name] = item[name];
    return "k:" + to_json(key);
}

std::string field(std::string_view name) { return std::string("f:").append(name); }

// Returns whether parts of the value have owners of their own.
bool is_divisible(std::string_view name, const Json& value) {
    return value.is_object() ? !is_atomic_map(name) : value.is_array() && is_keyed(name);
}

bool descends(std::string_view name, const Json& value) {
    return is_divisible(name, value) && !(value.is_object() && value.empty());
}

const Json* find_item(const Json& list, const Keys& keys, const Json& like) {
    const auto& items = list.items();
    const auto at = std::find_if(items.begin(), items.end(), [&](const Json& item) {
        return keys.empty()
                   ? item == like
                   : std::all_of(keys.begin(), keys.end(), [&](auto key) { return item[key] == like[key]; });
    });
    return at == items.end() ? nullptr : &*at;
}

void add_fields(std::string_view name, const Json& value, FieldSet& set) {
    if (!descends(name, value)) {
        set.member = true;
        return;
    }
    for (const auto& [key, child] : value.members()) add_fields(key, child, set.below[field(key)]);
    for (const Json& item : value.items()) {
        FieldSet& below = set.below[item_key(item, list_keys(name))];
        below.member = true;
        if (is_atomic_item(name)) continue;
        for (const auto& [key, child] : item.members()) add_fields(key, child, below.below[field(key)]);
    }
}

Json merge(std::string_view name, const Json& live, const Json& config) {
    if (config.is_object() && live.is_object() && !is_atomic_map(name)) {
        Json result = live;
        for (const auto& [key, value] : config.members()) result[key] = merge(key, live[key], value);
        return result;
    }
    const Keys& keys = list_keys(name);
    if (!config.is_array() || !live.is_array() || !is_keyed(name)) return config;
    Json result = Json::array();
    for (const Json& item : live.items()) {
        const Json* with = find_item(config, keys, item);
        result.push_back(with ? merge({}, item, *with) : item);
    }
    for (const Json& item : config.items())
        if (!find_item(live, keys, item)) result.push_back(item);
    return result;
}

// A value is removed only if it was named itself and no manager owns a part of it.
std::optional<Json> prune(std::string_view name, const Json& value, const FieldSet& gone,
                          const FieldSet& kept) {
    if (gone.member && kept.empty()) return std::nullopt;
    if (!descends(name, value) && !value.is_object()) return value;
    static const FieldSet nothing;
    const auto below = [](const FieldSet& set, const std::string& key) -> const FieldSet& {
        const auto at = set.below.find(key);
        return at == set.below.end() ? nothing : at->second;
    };
    if (value.is_object()) {
        Json result = Json::object();
        for (const auto& [key, child] : value.members()) {
            const std::string step = field(key);
            if (auto left = prune(key, child, below(gone, step), below(kept, step)))
                result[key] = std::move(*left);
        }
        if (result.empty() && !value.empty() && !kept.member) return std::nullopt;
        return result;
    }
    Json result = Json::array();
    for (const Json& item : value.items()) {
        const std::string step = item_key(item, list_keys(name));
        if (auto left = prune({}, item, below(gone, step), below(kept, step)))
            result.push_back(std::move(*left));
    }
    if (result.empty() && !value.empty() && !kept.member) return std::nullopt;
    return result;
}

void compare(std::string_view name, const Json* before, const Json* after, FieldSet& changed,
             FieldSet& removed);

void compare_step(std::string_view name, const std::string& step, const Json* before, const Json* after,
                  Difference& found) {
    compare(name, before, after, found.changed.below[step], found.removed.below[step]);
    for (FieldSet* set : {&found.changed, &found.removed})
        if (set->below[step].empty()) set->below.erase(step);
}

void compare(std::string_view name, const Json* before, const Json* after, FieldSet& changed,
             FieldSet& removed) {
    if (before && after && *before == *after) return;
    const bool both = before && after && is_divisible(name, *before) && is_divisible(name, *after) &&
                      before->is_object() == after->is_object();
    const bool deep = both || (!before && descends(name, *after)) || (!after && descends(name, *before));
    if (!deep) {
        (after ? changed : removed).member = true;
        return;
    }
    // The creator of a map or a list owns it as such, besides its members.
    changed.member = changed.member || !before;
    removed.member = removed.member || !after;
    static const Json none;
    const Json& old = before ? *before : none;
    const Json& now = after ? *after : none;
    Difference found = {std::move(changed), std::move(removed)};
    for (const auto& [key, value] : now.members())
        compare_step(key, field(key), old.find(key), &value, found);
    for (const auto& [key, value] : old.members())
        if (!now.contains(key)) compare_step(key, field(key), &value, nullptr, found);
    const Keys& keys = list_keys(name);
    for (const Json& item : now.items()) {
        const Json* was = find_item(old, keys, item);
        if (!was || (is_atomic_item(name) && *was != item))
            found.changed.below[item_key(item, keys)].member = true;
        if (is_atomic_item(name)) continue;
        compare_step({}, item_key(item, keys), was, &item, found);
    }
    for (const Json& item : old.items()) {
        if (find_item(now, keys, item)) continue;
        found.removed.below[item_key(item, keys)].member = true;
        if (is_atomic_item(name)) continue;
        compare_step({}, item_key(item, keys), &item, nullptr, found);
    }
    changed = std::move(found.changed);
    removed = std::move(found.removed);
}

}  // namespace

FieldSet unite(const FieldSet& left, const FieldSet& right) {
    FieldSet result = left;
    result.member = left.member || right.member;
    for (const auto& [key, set] : right.below) {
        const auto at = result.below.find(key);
        if (at == result.below.end())
            result.below.emplace(key, set);
        else
            at->second = unite(at->second, set);
    }
    return result;
}

FieldSet intersect(const FieldSet& left, const FieldSet& right) {
    FieldSet result;
    result.member = left.member && right.member;
    for (const auto& [key, set] : left.below)
        if (const auto at = right.below.find(key); at != right.below.end())
            if (FieldSet both = intersect(set, at->second); !both.empty())
                result.below.emplace(key, std::move(both));
    return result;
}

FieldSet subtract(const FieldSet& left, const FieldSet& right) {
    FieldSet result;
    result.member = left.member && !right.member;
    for (const auto& [key, set] : left.below) {
        const auto at = right.below.find(key);
        FieldSet rest = at == right.below.end() ? set : subtract(set, at->second);
        if (!rest.empty()) result.below.emplace(key, std::move(rest));
    }
    return result;
}

Json to_json_tree(const FieldSet& set) {
    Json tree = Json::object();
    if (set.member && !set.below.empty()) tree["."] = Json::object();
    for (const auto& [key, below] : set.below) tree[key] = to_json_tree(below);
    return tree;
}

FieldSet fields_written(const Json& object) { return difference(Json::object(), object).changed; }

FieldSet fields_of(const Json& object) {
    FieldSet set;
    for (const auto& [key, value] : object.members())
        if (key != "apiVersion" && key != "kind" && key != "metadata")
            add_fields(key, value, set.below[field(key)]);
    for (const auto& [key, value] : object["metadata"].members())
        for (const std::string_view applied : {"labels", "annotations", "ownerReferences", "finalizers"})
            if (key == applied) add_fields(key, value, set.below["f:metadata"].below[field(key)]);
    return set;
}

Json merged(const Json& live, const Json& config) { return merge({}, live, config); }

Json pruned(const Json& object, const FieldSet& gone, const FieldSet& kept) {
    return prune({}, object, gone, kept).value_or(Json::object());
}

Difference difference(const Json& before, const Json& after) {
    Difference found;
    const auto reduced = [](const Json& object) {
        Json tree = object;
        for (const char* name : {"apiVersion", "kind"}) tree.erase(name);
        const Json* metadata = object.find("metadata");
        Json kept = Json::object();
        for (const char* name : {"labels", "annotations", "ownerReferences", "finalizers"})
            if (metadata && metadata->contains(name)) kept[name] = (*metadata)[name];
        tree["metadata"] = std::move(kept);  // as a map, all managers own it
        return tree;
    };
    const Json old = reduced(before);
    const Json now = reduced(after);
    compare({}, &old, &now, found.changed, found.removed);
    return found;
}

}  // namespace model
