#include "node.hpp"

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

}  // namespace crd
