#pragma once
#include <set>
#include <string>

#include "api/json.hpp"

namespace lifecycle {

/// The items of a list by their JSON text. Lists of a JobSet may have a hundred thousand items, and are
/// compared with each other. Clients choose the texts, so they are sorted and not hashed.
class Items {
public:
    Items() = default;
    explicit Items(const api::Json& list) {
        for (const api::Json& item : list.items()) add(item);
    }
    /// Returns a set that has every item.
    static Items of_everything() {
        Items all;
        all.everything_ = true;
        return all;
    }

    /// Adds an item. Returns whether it is new.
    bool add(std::string text) { return texts_.insert(std::move(text)).second; }
    bool add(const api::Json& item) { return add(to_json(item)); }
    /// Returns whether the list has an item with this text, which callers compute once for several lists.
    bool has(const std::string& text) const { return everything_ || texts_.contains(text); }

private:
    std::set<std::string> texts_ = {};
    bool everything_ = false;
};

}  // namespace lifecycle
