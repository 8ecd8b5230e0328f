#include "validator.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "node.hpp"

namespace crd {
namespace {

using api::Json;

// Finds an item of a list before the update. Only items of list maps keep their identity.
class ItemsBefore {
public:
    ItemsBefore(const Node& list, const Json* old_list) : list_(list) {
        if (!old_list || list.list_type != Node::ListType::map) return;
        for (const Json& item : old_list->items()) by_identity_.emplace(identity(list, item), &item);
    }
    const Json* find(const Json& item) const {
        if (by_identity_.empty()) return nullptr;
        const auto same = by_identity_.find(identity(list_, item));
        return same == by_identity_.end() ? nullptr : same->second;
    }

private:
    const Node& list_;
    std::map<Json, const Json*> by_identity_ = {};
};

// Calls visit(node, value, old value or nullptr, path) for each value that the schema describes. Skips values
// that the update does not change (ratcheting), and the members and items of a value for which `visit`
// returns false.
template <class Visit>
void walk(const Node& node, const Json& value, const Json* old_value, const std::string& path,
          const Visit& visit) {
    if (old_value && *old_value == value) return;
    if (!visit(node, value, old_value, path)) return;
    for (const auto& [key, member] : value.members())
        if (const Node* known = node.member(key))
            walk(*known, member, old_value ? old_value->find(key) : nullptr, below(path, key), visit);
    if (!node.items) return;
    const ItemsBefore before(node, old_value);
    std::size_t index = 0;
    for (const Json& item : value.items())
        walk(*node.items, item, before.find(item), at(path, index++), visit);
}

class Validator {
public:
    Errors run(const Node& root, const Json& object, const Json* old_object) {
        walk(root, object, old_object, "",
             [this](const Node& node, const Json& value, const Json*, const std::string& path) {
                 return check_value(node, value, path);
             });
        const bool misleading = std::any_of(errors_.begin(), errors_.end(), blocks_rules);
        walk(root, object, old_object, "",
             [this](const Node& node, const Json& value, const Json*, const std::string& path) {
                 check_identities(node, value, path);
                 return true;
             });
        if (misleading) return std::move(errors_);
        walk(root, object, old_object, "", [this](const auto&... visited) {
            check_rules(visited...);
            return true;
        });
        return std::move(errors_);
    }

private:
    // Returns false if the value's members, items and further checks must be skipped.
    bool check_value(const Node& node, const Json& value, const std::string& path) {
        if (!check_type(node, value, path, errors_)) return false;
        check_scalar(node, value, path, errors_);
        if (value.is_object() || value.is_array()) check_sizes(node, value, path, errors_);
        if (!value.is_object()) return true;
        for (const std::string& key : node.required)
            if (!value.contains(key))
                errors_.push_back(api::cause_at(below(path, key), "FieldValueRequired", "Required value"));
        return true;
    }

    void check_identities(const Node& node, const Json& value, const std::string& path) {
        if (node.list_type == Node::ListType::atomic) return;
        std::set<Json> seen;
        std::size_t index = 0;
        for (const Json& item : value.items()) {
            const auto [key, is_new] = seen.insert(identity(node, item));
            if (!is_new)
                errors_.push_back(api::cause_at(at(path, index), "FieldValueDuplicate",
                                                "Duplicate value: " + api::to_json(*key)));
            ++index;
        }
    }

    void check_rules(const Node& node, const Json& value, const Json* old_value, const std::string& path) {
        for (const Rule& rule : node.rules) {
            if (!rule.compares) {
                check_rule(rule, value, nullptr, path);
            } else if (old_value) {
                const Json before = canonical(node, *old_value);
                check_rule(rule, canonical(node, value), &before, path);
            }
        }
    }

    void check_rule(const Rule& rule, const Json& value, const Json* old_value, const std::string& path) {
        cel::Names names = {{"self", value}};
        if (old_value) names["oldSelf"] = *old_value;
        const cel::Value verdict = rule.holds.value(names);
        const Json* holds = std::get_if<Json>(&verdict);
        if (holds && holds->bool_or(false)) return;
        std::string text = rule.message;
        const auto* error = std::get_if<cel::Error>(&verdict);
        if (error) {
            text = error->text + " evaluating rule: " + rule.message;
        } else if (rule.says) {
            const cel::Value said = rule.says->value(names);
            if (const Json* words = std::get_if<Json>(&said); words && words->is_string())
                text = words->as_string();
        }
        // The API server omits objects and lists from the message of a failed rule.
        const bool is_shown = error || !(value.is_object() || value.is_array());
        const bool forbidden = rule.reason == "FieldValueForbidden";
        std::string field = path + rule.field;
        if (path.empty()) field = rule.field.empty() ? std::string(api::no_field) : rule.field.substr(1);
        errors_.push_back(api::cause_at(
            field, rule.reason,
            (forbidden ? "Forbidden: " : "Invalid value: " + (is_shown ? shown(value) + ": " : "")) + text));
    }

    Errors errors_ = {};
};

}  // namespace

bool blocks_rules(const api::StatusCause& error) {
    static constexpr std::string_view reasons[] = {"FieldValueRequired", "FieldValueTooLong",
                                                   "FieldValueTooMany", "FieldValueTypeInvalid",
                                                   "FieldValueNotSupported"};
    return std::find(std::begin(reasons), std::end(reasons), error.reason) != std::end(reasons);
}

Errors validate(const Node& root, const Json& object, const Json& old_object) {
    return Validator().run(root, object, old_object.is_null() ? nullptr : &old_object);
}

}  // namespace crd
