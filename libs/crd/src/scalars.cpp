#include "validator.hpp"

#include <cmath>
#include <limits>

#include "api/text.hpp"
#include "api/time.hpp"

namespace crd {
namespace {

using api::cause_at;
using api::Json;
using api::StatusCause;
using Type = Node::Type;

constexpr struct {
    Type type;
    std::string_view name;
    bool (*has)(const Json&);
} types[] = {
    {Type::object, "object", [](const Json& value) { return value.is_object(); }},
    {Type::array, "array", [](const Json& value) { return value.is_array(); }},
    {Type::string, "string", [](const Json& value) { return value.is_string(); }},
    {Type::integer, "integer",
     [](const Json& value) {
         if (value.is_integer() || !value.is_number()) return value.is_integer();
         const double number = *value.as_double();
         return std::trunc(number) == number && std::abs(number) < 0x1p63;
     }},
    {Type::number, "number", [](const Json& value) { return value.is_number(); }},
    {Type::boolean, "boolean", [](const Json& value) { return value.is_bool(); }},
    {Type::int_or_string, "integer,string",
     [](const Json& value) { return value.is_integer() || value.is_string(); }},
};

std::string type_name(const Json& value) {
    if (value.is_null()) return "null";
    for (const auto& row : types)
        if (row.type != Type::int_or_string && row.has(value)) return std::string(row.name);
    return "number";
}

std::string number(double value) { return api::to_json(Json(static_cast<std::int64_t>(value))); }

StatusCause invalid(const std::string& path, const std::string& value, const std::string& rule) {
    return cause_at(path, "FieldValueInvalid", "Invalid value: " + value + ": " + in_body(path) + " " + rule);
}

StatusCause wrong_type(const std::string& path, std::string_view wanted, const std::string& value) {
    return cause_at(path, "FieldValueTypeInvalid",
                    "Invalid value: " + value + ": " + in_body(path) + " must be of type " +
                        std::string(wanted) + ": " + value);
}

// The API server's check of formats names the field only in the text.
StatusCause out_of_format(const Node& node, const std::string& path) {
    return {.reason = "FieldValueInvalid",
            .field = std::string(api::no_field),
            .message = "Invalid value: \"\": Checked value must be of type integer with format " +
                       node.format + " in " + path,
            .place = path};
}

void check_number(const Node& node, const Json& value, const std::string& path, Errors& errors) {
    const double number_value = *value.as_double();
    if (node.minimum && number_value < *node.minimum)
        errors.push_back(
            invalid(path, shown(value), "should be greater than or equal to " + number(*node.minimum)));
    if (node.maximum && number_value > *node.maximum)
        errors.push_back(
            invalid(path, shown(value), "should be less than or equal to " + number(*node.maximum)));
    const bool too_wide =
        node.format == "int32" && (number_value > std::numeric_limits<std::int32_t>::max() ||
                                   number_value < std::numeric_limits<std::int32_t>::min());
    if (too_wide) errors.push_back(out_of_format(node, path));
}

std::string listed(const std::vector<Json>& values) {
    std::string text;
    for (const Json& value : values) text += (text.empty() ? "" : ", ") + api::to_json(value);
    return text;
}

bool is_well_formed(const std::string& format, std::string_view text) {
    return format != "date-time" || api::parse_time(text).has_value();
}

// An API server reports the first bound of a text that is broken.
void check_bounds(const Node& node, const Json& value, const std::string& path, Errors& errors) {
    const std::string_view text = value.as_string();
    const std::size_t length = api::count_characters(text);
    if (node.max_length && length > *node.max_length)
        errors.push_back(
            cause_at(path, "FieldValueTooLong",
                     "Too long: may not be more than " + std::to_string(*node.max_length) + " bytes"));
    else if (node.min_length && length < *node.min_length)
        errors.push_back(invalid(path, shown(value),
                                 "should be at least " + std::to_string(*node.min_length) + " chars long"));
    else if (node.pattern && !node.pattern->regex.matches(text))
        errors.push_back(invalid(path, shown(value), "should match '" + node.pattern->text + "'"));
}

void check_string(const Node& node, const Json& value, const std::string& path, Errors& errors) {
    check_bounds(node, value, path, errors);
    if (!is_well_formed(node.format, value.as_string()))
        errors.push_back(wrong_type(path, node.format, shown(value)));
}

}  // namespace

std::string shown(const Json& value) {
    if (value.is_object() || value.is_array()) return '"' + type_name(value) + '"';
    return api::to_json(value);
}

std::string in_body(const std::string& path) { return path.empty() ? "body" : path + " in body"; }

bool check_type(const Node& node, const Json& value, const std::string& path, Errors& errors) {
    if (value.is_null() && node.nullable) return false;
    if (node.type == Type::integer && !node.format.empty() && value.is_number() &&
        type_name(value) == "number") {
        errors.push_back(out_of_format(node, path));
        errors.push_back(wrong_type(path, node.format, "\"float64\""));
        return false;
    }
    for (const auto& row : types) {
        if (row.type != node.type || row.has(value)) continue;
        errors.push_back(wrong_type(path, row.name, '"' + type_name(value) + '"'));
        return false;
    }
    return true;
}

void check_scalar(const Node& node, const Json& value, const std::string& path, Errors& errors) {
    if (!node.allowed.empty() &&
        std::find(node.allowed.begin(), node.allowed.end(), value) == node.allowed.end())
        errors.push_back(
            cause_at(path, "FieldValueNotSupported",
                     "Unsupported value: " + shown(value) + ": supported values: " + listed(node.allowed)));
    if (value.is_number()) check_number(node, value, path, errors);
    if (value.is_string()) check_string(node, value, path, errors);
}

void check_sizes(const Node& node, const Json& value, const std::string& path, Errors& errors) {
    const std::size_t size = value.is_array() ? value.items().size() : value.members().size();
    const auto& least = value.is_array() ? node.min_items : node.min_properties;
    const auto& most = value.is_array() ? node.max_items : node.max_properties;
    const char* const what = value.is_array() ? " items" : " properties";
    if (least && size < *least)
        errors.push_back(
            invalid(path, std::to_string(size), "should have at least " + std::to_string(*least) + what));
    // The API server writes "items" for properties, too.
    if (most && size > *most)
        errors.push_back(cause_at(
            path, "FieldValueTooMany",
            "Too many: " + std::to_string(size) + ": must have at most " + std::to_string(*most) + " items"));
}

}  // namespace crd
