#include "api/named_items.hpp"

#include <algorithm>
#include <utility>

namespace api {

const Json* find_named(const Json& list, std::string_view name) {
    for (const Json& item : list.items())
        if (item["name"].as_string() == name) return &item;
    return nullptr;
}

Json* find_named(Json* list, std::string_view name) {
    return list ? const_cast<Json*>(find_named(std::as_const(*list), name)) : nullptr;
}

const Json* NamedItems::find(const Json& list, std::string_view name) {
    constexpr std::size_t few = 16;
    const auto& items = list.items();
    if (items.size() <= few) return find_named(list, name);
    const auto [at, is_new] = indexes_.try_emplace(&list);
    Index& index = at->second;
    if (is_new) {
        index.reserve(items.size());
        for (const Json& item : items) index.emplace_back(item["name"].as_string(), &item);
        std::sort(index.begin(), index.end());  // stable: of equal names the first item comes first
    }
    const auto found = std::lower_bound(index.begin(), index.end(), name,
                                        [](const auto& entry, auto wanted) { return entry.first < wanted; });
    return found != index.end() && found->first == name ? found->second : nullptr;
}

}  // namespace api
