#pragma once
#include <set>
#include <string>

#include "api/json.hpp"

namespace lifecycle {

/// The items of a list, by what they are. Lists of a JobSet may have a hundred thousand, and are compared
/// with each other; as what others write they are sorted, not hashed.
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
    std::set<std::string> texts_ = {};
    bool everything_ = false;
};

}  // namespace lifecycle
