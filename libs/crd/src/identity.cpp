#include <algorithm>

#include "node.hpp"

namespace crd {

using api::Json;

Json identity(const Node& list, const Json& item) {
    if (list.list_type != Node::ListType::map) return item;
    Json keys = Json::object();
    for (const std::string& key : list.keys)
        if (const Json* value = item.find(key)) keys[key] = *value;
    return keys;
}

Json canonical(const Node& node, const Json& value) {
    if (value.is_object()) {
        Json::Object::Members members;
        for (const auto& [key, member] : value.members()) {
            const Node* known = node.member(key);
            members.push_back({key, known ? canonical(*known, member) : member});
        }
        return Json::Object(std::move(members));
    }
    if (!value.is_array() || !node.items) return value;
    std::vector<std::pair<std::string, Json>> items;
    for (const Json& item : value.items())
        items.emplace_back(api::to_json(identity(node, item)), canonical(*node.items, item));
    if (node.list_type != Node::ListType::atomic)
        std::stable_sort(items.begin(), items.end(),
                         [](const auto& left, const auto& right) { return left.first < right.first; });
    Json list = Json::array();
    for (auto& [key, item] : items) list.push_back(std::move(item));
    return list;
}

}  // namespace crd
