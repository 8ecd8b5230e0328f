#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "api/json.hpp"

namespace lifecycle {

/// The items of a list, by what they are. Lists of a JobSet may have a hundred thousand, and are compared
/// with each other.
class Items {
public:
    Items() = default;
    explicit Items(const api::Json& list) {
        for (const api::Json& item : list.items()) add(item);
    }
    /// Has whatever it is asked for.
    static Items of_everything() {
        Items all;
        all.everything_ = true;
        return all;
    }

    /// Whether it is new.
    bool add(std::string text) { return texts_.insert(std::move(text)).second; }
    bool add(const api::Json& item) { return add(to_json(item)); }
    /// Of the text of an item: it is asked for in several lists.
    bool has(const std::string& text) const { return everything_ || texts_.contains(text); }

private:
    std::unordered_set<std::string> texts_ = {};
    bool everything_ = false;
};

/// The items of a list by their `name`; of several, the first. Refers to the list.
class ItemsByName {
public:
    explicit ItemsByName(const api::Json& list) {
        for (const api::Json& item : list.items()) items_.emplace(item["name"].as_string(), &item);
    }
    /// nullptr if there is none.
    const api::Json* find(std::string_view name) const {
        const auto at = items_.find(name);
        return at == items_.end() ? nullptr : at->second;
    }

private:
    std::unordered_map<std::string_view, const api::Json*> items_ = {};
};

}  // namespace lifecycle
