#include <set>
#include <stdexcept>

#include "node.hpp"

namespace crd {
namespace {

using api::Json;

// A schema with another keyword could not be applied completely.
const std::set<std::string_view> covered = {"additionalProperties",
                                            "anyOf",
                                            "default",
                                            "description",
                                            "enum",
                                            "format",
                                            "items",
                                            "maxItems",
                                            "maxLength",
                                            "maximum",
                                            "maxProperties",
                                            "minItems",
                                            "minLength",
                                            "minimum",
                                            "minProperties",
                                            "nullable",
                                            "pattern",
                                            "properties",
                                            "required",
                                            "type",
                                            "x-kubernetes-int-or-string",
                                            "x-kubernetes-list-map-keys",
                                            "x-kubernetes-list-type",
                                            "x-kubernetes-map-type",
                                            "x-kubernetes-preserve-unknown-fields",
                                            "x-kubernetes-validations"};

const std::map<std::string_view, Node::Type> types = {
    {"object", Node::Type::object},   {"array", Node::Type::array},   {"string", Node::Type::string},
    {"integer", Node::Type::integer}, {"number", Node::Type::number}, {"boolean", Node::Type::boolean}};

void check_covered(const Json& schema) {
    for (const auto& [key, value] : schema.members())
        if (!covered.contains(key)) throw std::invalid_argument("schema keyword " + key + " is not covered");
    // The only use of anyOf in the supported schemas.
    if (schema.contains("anyOf") && !schema["x-kubernetes-int-or-string"].bool_or(false))
        throw std::invalid_argument("anyOf is covered for integer or string only");
}

Node::Type type_of(const Json& schema) {
    if (schema["x-kubernetes-int-or-string"].bool_or(false)) return Node::Type::int_or_string;
    const auto found = types.find(schema["type"].as_string());
    return found == types.end() ? Node::Type::any : found->second;
}

std::optional<std::size_t> count(const Json& value) {
    if (!value.is_integer()) return std::nullopt;
    return static_cast<std::size_t>(value.int_or(0));
}

std::vector<std::string> strings(const Json& list) {
    std::vector<std::string> texts;
    for (const Json& item : list.items()) texts.emplace_back(item.as_string());
    return texts;
}

Rule compile_rule(const Json& source) {
    Rule rule = {.holds = cel::Expression(source["rule"].as_string())};
    if (const Json* says = source.find("messageExpression")) rule.says = cel::Expression(says->as_string());
    rule.message = source["message"].as_string();
    if (rule.message.empty()) rule.message = "failed rule: " + std::string(source["rule"].as_string());
    rule.reason = source["reason"].string().value_or("FieldValueInvalid");
    rule.field = source["fieldPath"].as_string();
    rule.compares = rule.holds.mentions("oldSelf");
    return rule;
}

Node::ListType list_type_of(const Json& schema) {
    const std::string_view name = schema["x-kubernetes-list-type"].as_string();
    if (name == "map") return Node::ListType::map;
    return name == "set" ? Node::ListType::set : Node::ListType::atomic;
}

std::unique_ptr<Node> compile_if(const Json& schema) {
    return schema.is_object() ? std::make_unique<Node>(compile(schema)) : nullptr;
}

void compile_containers(const Json& schema, Node& node) {
    for (const auto& [key, property] : schema["properties"].members())
        node.properties.emplace(key, compile(property));
    node.values = compile_if(schema["additionalProperties"]);
    node.keeps_unknown = schema["x-kubernetes-preserve-unknown-fields"].bool_or(false) ||
                         schema["additionalProperties"].bool_or(false);
    node.required = strings(schema["required"]);
    node.min_properties = count(schema["minProperties"]);
    node.max_properties = count(schema["maxProperties"]);
    node.items = compile_if(schema["items"]);
    node.list_type = list_type_of(schema);
    node.keys = strings(schema["x-kubernetes-list-map-keys"]);
    node.min_items = count(schema["minItems"]);
    node.max_items = count(schema["maxItems"]);
}

}  // namespace

Node compile(const Json& schema) {
    check_covered(schema);
    Node node;
    node.type = type_of(schema);
    node.nullable = schema["nullable"].bool_or(false);
    if (const Json* fallback = schema.find("default")) node.fallback = *fallback;
    compile_containers(schema, node);
    node.allowed = schema["enum"].items();
    node.minimum = schema["minimum"].as_double();
    node.maximum = schema["maximum"].as_double();
    node.min_length = count(schema["minLength"]);
    node.max_length = count(schema["maxLength"]);
    if (const Json* pattern = schema.find("pattern")) {
        std::string text(pattern->as_string());
        Regex regex(text);
        node.pattern = Pattern{.text = std::move(text), .regex = std::move(regex)};
    }
    node.format = schema["format"].as_string();
    for (const Json& rule : schema["x-kubernetes-validations"].items())
        node.rules.push_back(compile_rule(rule));
    return node;
}

}  // namespace crd
