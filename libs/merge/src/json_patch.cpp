#include "merge/json_patch.hpp"

#include <charconv>

namespace merge {
namespace {

using api::Json;

// Removes "/a~1b" from the front of a pointer and returns "a/b".
std::string take_token(std::string_view& pointer) {
    pointer.remove_prefix(1);
    const auto text = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(text.size());
    std::string token;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool escaped = text[i] == '~' && i + 1 < text.size();
        token += !escaped ? text[i] : text[++i] == '1' ? '/' : '~';
    }
    return token;
}

std::optional<std::size_t> index_of(const std::string& token) {
    std::size_t index = 0;
    const char* const end = token.data() + token.size();
    const auto [at, failed] = std::from_chars(token.data(), end, index);
    if (token.empty() || failed != std::errc() || at != end) return std::nullopt;
    return index;
}

// Returns nullptr if there is none.
Json* child(Json& parent, const std::string& token) {
    if (!parent.is_array()) return parent.find(token);
    const auto index = index_of(token);
    return index && *index < parent.items().size() ? &parent.items()[*index] : nullptr;
}

bool add(Json& parent, const std::string& token, const Json& value) {
    if (parent.is_object()) {
        parent[token] = value;
        return true;
    }
    if (!parent.is_array()) return false;
    Json::Array& items = parent.items();
    const auto index = token == "-" ? items.size() : index_of(token);
    if (!index || *index > items.size()) return false;
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(*index), value);
    return true;
}

bool remove(Json& parent, const std::string& token) {
    if (!child(parent, token)) return false;
    if (parent.is_object()) return parent.erase(token);
    parent.items().erase(parent.items().begin() + static_cast<std::ptrdiff_t>(*index_of(token)));
    return true;
}

bool apply_operation(const Json& operation, Json& object) {
    std::string_view rest = operation["path"].as_string();
    if (!rest.starts_with('/')) return false;
    Json* parent = &object;
    std::string token = take_token(rest);
    while (!rest.empty()) {
        parent = child(*parent, token);
        if (!parent) return false;
        token = take_token(rest);
    }
    if (operation["op"].as_string() == "add") return add(*parent, token, operation["value"]);
    return operation["op"].as_string() == "remove" && remove(*parent, token);
}

}  // namespace

api::Result<> apply_operations(const std::vector<Json>& operations, Json& object) {
    for (const Json& operation : operations)
        if (!apply_operation(operation, object))
            return api::invalid("", "the JSON patch does not fit: " + to_json(operation));
    return {};
}

JsonPointer operator/(JsonPointer base, std::string_view member) {
    base.text_ += '/';
    for (const char c : member) {
        if (c == '~')
            base.text_ += "~0";
        else if (c == '/')
            base.text_ += "~1";
        else
            base.text_ += c;
    }
    return base;
}

JsonPointer operator/(JsonPointer base, std::size_t index) {
    base.text_ += '/' + std::to_string(index);
    return base;
}

api::Json add_operation(const JsonPointer& where, api::Json value) {
    return api::Json::object({{"op", "add"}, {"path", where.text()}, {"value", std::move(value)}});
}

api::Json remove_operation(const JsonPointer& where) {
    return api::Json::object({{"op", "remove"}, {"path", where.text()}});
}

}  // namespace merge
