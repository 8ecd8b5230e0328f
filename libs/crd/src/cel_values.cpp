#include "cel_parts.hpp"

#include <algorithm>
#include <stdexcept>

#include "api/text.hpp"
#include "regex.hpp"

namespace crd::cel {
namespace {

using api::Json;

std::string type_name(const Json& value) {
    if (value.is_null()) return "null_type";
    if (value.is_bool()) return "bool";
    if (value.is_integer()) return "int";
    if (value.is_number()) return "double";
    if (value.is_string()) return "string";
    return value.is_array() ? "list" : "map";
}

// CEL has no order between a number and a string.
Value ordered(std::string_view sign, const Json& left, const Json& right) {
    int order = 0;
    if (left.is_number() && right.is_number()) {
        const double a = *left.as_double(), b = *right.as_double();
        order = a < b ? -1 : a > b;
        if (left.is_integer() && right.is_integer()) {
            const std::int64_t i = left.int_or(0), j = right.int_or(0);
            order = i < j ? -1 : i > j;
        }
    } else if (left.is_string() && right.is_string()) {
        order = left.as_string().compare(right.as_string());
    } else {
        return error("no such overload: " + type_name(left) + " " + std::string(sign) + " " +
                     type_name(right));
    }
    if (sign == "<") return truth(order < 0);
    if (sign == "<=") return truth(order <= 0);
    return truth(sign == ">" ? order > 0 : order >= 0);
}

Value contained(const Json& item, const Json& in) {
    if (in.is_object()) return truth(in.contains(item.as_string()));
    if (!in.is_array()) return error("no such overload: in " + type_name(in));
    return truth(std::find(in.items().begin(), in.items().end(), item) != in.items().end());
}

Value sum(const Json& left, const Json& right) {
    if (left.is_string() && right.is_string())
        return Json(std::string(left.as_string()) + std::string(right.as_string()));
    std::int64_t total = 0;
    if (left.is_integer() && right.is_integer() &&
        !__builtin_add_overflow(left.int_or(0), right.int_or(0), &total))
        return Json(total);
    return error("no such overload: " + type_name(left) + " + " + type_name(right));
}

Value size_of(const Json& value) {
    if (value.is_string()) return Json(static_cast<std::int64_t>(api::count_characters(value.as_string())));
    if (value.is_array()) return Json(static_cast<std::int64_t>(value.items().size()));
    if (value.is_object()) return Json(static_cast<std::int64_t>(value.members().size()));
    return error("no such overload: size(" + type_name(value) + ")");
}

// Tests a string against another one.
using StringTest = bool (*)(std::string_view text, std::string_view other);

bool matches(std::string_view text, std::string_view pattern) { return Regex(pattern).matches(text); }

constexpr struct {
    std::string_view name;
    StringTest test;
} string_tests[] = {
    {"matches", matches},
    {"startsWith", [](std::string_view text, std::string_view start) { return text.starts_with(start); }},
    {"endsWith", [](std::string_view text, std::string_view end) { return text.ends_with(end); }},
    {"contains", [](std::string_view text, std::string_view part) { return text.find(part) != text.npos; }},
};

}  // namespace

Value error(std::string text) { return Error{std::move(text)}; }
const Json* json(const Value& value) { return std::get_if<Json>(&value); }
Value truth(bool value) { return Json(value); }

Value binary(std::string_view sign, const Value& left, const Value& right) {
    if (std::holds_alternative<Error>(left)) return left;
    if (std::holds_alternative<Error>(right)) return right;
    if (sign == "==" || sign == "!=") {
        const auto* one = std::get_if<TypeName>(&left);
        const auto* other = std::get_if<TypeName>(&right);
        const bool equal =
            one && other ? *one == *other : json(left) && json(right) && *json(left) == *json(right);
        return truth(equal == (sign == "=="));
    }
    const Json* a = json(left);
    const Json* b = json(right);
    if (!a || !b) return error("no such overload: " + std::string(sign) + " of types");
    if (sign == "in") return contained(*a, *b);
    if (sign == "+") return sum(*a, *b);
    if (sign == "-" && a->is_integer() && b->is_integer()) {
        std::int64_t rest = 0;
        if (!__builtin_sub_overflow(a->int_or(0), b->int_or(0), &rest)) return Json(rest);
        return error("return error for overflow");
    }
    return ordered(sign, *a, *b);
}

Value negated(std::string_view sign, const Value& of) {
    const Json* value = json(of);
    if (!value) return of;
    if (sign == "!" && value->is_bool()) return truth(!value->bool_or(false));
    if (sign == "-" && value->is_integer()) return Json(-value->int_or(0));
    return error("no such overload: " + std::string(sign) + type_name(*value));
}

Value member(const Value& of, const Value& key) {
    const Json* container = json(of);
    const Json* name = json(key);
    if (!container) return of;
    if (!name) return key;
    if (name->is_string()) {
        const Json* found = container->find(name->as_string());
        return found ? Value(*found) : error("no such key: " + std::string(name->as_string()));
    }
    const std::int64_t index = name->int_or(-1);
    if (index < 0 || static_cast<std::size_t>(index) >= container->items().size())
        return error("index out of bounds: " + std::to_string(index));
    return container->items()[static_cast<std::size_t>(index)];
}

Function function(std::string_view name, std::size_t arguments) {
    if (name == "size" && arguments == 1)
        return [](const std::vector<Value>& given) {
            const Json* value = json(given[0]);
            return value ? size_of(*value) : given[0];
        };
    if (name == "type" && arguments == 1)
        return [](const std::vector<Value>& given) {
            const Json* value = json(given[0]);
            return value ? Value(TypeName{type_name(*value)}) : given[0];
        };
    for (const auto& row : string_tests) {
        if (row.name != name || arguments != 2) continue;
        return [test = row.test, name](const std::vector<Value>& given) {
            const Json* text = json(given[0]);
            const Json* other = json(given[1]);
            if (!text) return given[0];
            if (!other) return given[1];
            if (!text->is_string() || !other->is_string())
                return error("no such overload: " + std::string(name));
            return truth(test(text->as_string(), other->as_string()));
        };
    }
    throw std::invalid_argument("CEL function " + std::string(name) + " is not covered");
}

}  // namespace crd::cel
