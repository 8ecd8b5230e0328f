#include "node.hpp"

#include <algorithm>

namespace crd {
namespace {

using api::Json;

class StoredForm {
public:
    explicit StoredForm(std::vector<std::string>& unknown) : unknown_(unknown) {}

    void bring(const Node& node, Json& value, const std::string& path) {
        if (value.is_object() && (node.type == Node::Type::object || node.type == Node::Type::any))
            bring_object(node, value, path);
        if (value.is_array() && node.items) {
            std::size_t index = 0;
            for (Json& item : value.items()) bring(*node.items, item, at(path, index++));
        }
    }

private:
    void bring_object(const Node& node, Json& object, const std::string& path) {
        object.members().erase_if([&](const auto& member) {
            const Node* known = node.member(member.key);
            // A null is dropped first, so that a default replaces it.
            if (known) return member.value.is_null() && !known->nullable;
            if (node.keeps_unknown || is_server_s_own(path, member.key)) return false;
            unknown_.push_back(below(path, member.key));
            return true;
        });
        for (const auto& [key, property] : node.properties)
            if (property.fallback && !object.contains(key)) object[key] = *property.fallback;
        for (auto& [key, value] : object.members())
            if (const Node* known = node.member(key); known && !is_server_s_own(path, key))
                bring(*known, value, below(path, key));
    }

    // CRDs do not describe these fields, or not completely.
    static bool is_server_s_own(const std::string& path, std::string_view key) {
        return path.empty() && (key == "apiVersion" || key == "kind" || key == "metadata");
    }

    std::vector<std::string>& unknown_;
};

}  // namespace

std::vector<std::string> prune_and_default(const Node& root, Json& object) {
    std::vector<std::string> unknown;
    StoredForm(unknown).bring(root, object, "");
    return unknown;
}

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
