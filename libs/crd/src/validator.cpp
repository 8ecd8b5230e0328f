#include "validator.hpp"

#include <algorithm>

#include "scalars.hpp"

namespace crd {
namespace {

using api::Json;

std::string below(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : path + "." + std::string(key);
}
std::string at(const std::string& path, std::size_t index) {
    return path + "[" + std::to_string(index) + "]";
}

// Calls visit(node, value, old value or nullptr, path) for each value that the node's schema speaks of.
template <class Visit>
void for_each_child(const Node& node, const Json& value, const Json* old_value, const std::string& path,
                    Visit visit) {
    for (const auto& [key, member] : value.members()) {
        const auto property = node.properties.find(key);
        const Node* known = property == node.properties.end() ? node.values.get() : &property->second;
        if (known) visit(*known, member, old_value ? old_value->find(key) : nullptr, below(path, key));
    }
    if (!node.items) return;
    std::size_t index = 0;
    for (const Json& item : value.items()) {
        const Json* old_item = nullptr;
        // Only the items of list maps are the same ones from one update to the next.
        if (old_value && node.list_type == Node::ListType::map) {
            const auto& old_items = old_value->items();
            const auto same = std::find_if(old_items.begin(), old_items.end(), [&](const Json& each) {
                return identity(node, each) == identity(node, item);
            });
            if (same != old_items.end()) old_item = &*same;
        }
        visit(*node.items, item, old_item, at(path, index++));
    }
}

class Validator {
public:
    Findings run(const Node& root, const Json& object, const Json* old_object) {
        check(root, object, old_object, "");
        const bool misleading = std::any_of(findings_.begin(), findings_.end(), [](const Finding& finding) {
            return finding.reason == "FieldValueRequired" || finding.reason == "FieldValueTooLong" ||
                   finding.reason == "FieldValueTooMany" || finding.reason == "FieldValueTypeInvalid";
        });
        check_identities(root, object, old_object, "");
        if (!misleading) check_rules(root, object, old_object, "");
        return std::move(findings_);
    }

private:
    void check(const Node& node, const Json& value, const Json* old_value, const std::string& path) {
        if (old_value && *old_value == value) return;
        if (!check_type(node, value, path, findings_)) return;
        check_scalar(node, value, path, findings_);
        if (value.is_object() || value.is_array()) check_sizes(node, value, path, findings_);
        if (value.is_object())
            for (const std::string& key : node.required)
                if (!value.contains(key))
                    findings_.push_back({.reason = "FieldValueRequired",
                                         .field = below(path, key),
                                         .message = "Required value"});
        for_each_child(node, value, old_value, path, [&](const auto&... child) { check(child...); });
    }

    void check_identities(const Node& node, const Json& value, const Json* old_value,
                          const std::string& path) {
        if (old_value && *old_value == value) return;
        if (node.list_type != Node::ListType::atomic) {
            std::vector<Json> seen;
            std::size_t index = 0;
            for (const Json& item : value.items()) {
                Json key = identity(node, item);
                if (std::find(seen.begin(), seen.end(), key) != seen.end())
                    findings_.push_back({.reason = "FieldValueDuplicate",
                                         .field = at(path, index),
                                         .message = "Duplicate value: " + api::to_json(key)});
                else
                    seen.push_back(std::move(key));
                ++index;
            }
        }
        for_each_child(node, value, old_value, path,
                       [&](const auto&... child) { check_identities(child...); });
    }

    void check_rules(const Node& node, const Json& value, const Json* old_value, const std::string& path) {
        if (old_value && *old_value == value) return;
        for (const Rule& rule : node.rules)
            if (!rule.compares)
                check_rule(rule, value, nullptr, path);
            else if (const Json before = old_value ? canonical(node, *old_value) : Json(); old_value)
                check_rule(rule, canonical(node, value), &before, path);
        for_each_child(node, value, old_value, path, [&](const auto&... child) { check_rules(child...); });
    }

    void check_rule(const Rule& rule, const Json& value, const Json* old_value, const std::string& path) {
        cel::Names names = {{"self", value}};
        if (old_value) names["oldSelf"] = *old_value;
        const cel::Value verdict = rule.holds.value(names);
        const Json* holds = std::get_if<Json>(&verdict);
        if (holds && holds->bool_or(false)) return;
        std::string text = rule.message;
        if (const auto* trouble = std::get_if<cel::Trouble>(&verdict)) {
            text = "rule evaluation error: " + trouble->text;
        } else if (rule.says) {
            const cel::Value said = rule.says->value(names);
            if (const Json* words = std::get_if<Json>(&said); words && words->is_string())
                text = words->as_string();
        }
        const bool forbidden = rule.reason == "FieldValueForbidden";
        std::string field = path + rule.field;
        if (path.empty()) field = rule.field.empty() ? "<nil>" : rule.field.substr(1);
        findings_.push_back(
            {.reason = rule.reason,
             .field = field,
             .message = (forbidden ? "Forbidden: " : "Invalid value: " + shown(value) + ": ") + text});
    }

    Findings findings_ = {};
};

}  // namespace

std::vector<Finding> validate(const Node& root, const Json& object, const Json& old_object) {
    return Validator().run(root, object, old_object.is_null() ? nullptr : &old_object);
}

}  // namespace crd
