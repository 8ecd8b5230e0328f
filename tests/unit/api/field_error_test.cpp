#include "api/field_error.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using namespace api;
using Type = FieldErrorType;

TEST_CASE("a field error reads as Kubernetes writes it", "[api]") {
    struct Case {
        FieldError error;
        const char* reason;
        const char* body;
    };
    const Case cases[] = {
        {{.type = Type::required, .detail = "name it"}, "FieldValueRequired", "Required value: name it"},
        {{.type = Type::required}, "FieldValueRequired", "Required value"},
        {{.type = Type::invalid, .value = "a\"b", .detail = "no quotes"},
         "FieldValueInvalid",
         "Invalid value: \"a\\\"b\": no quotes"},
        {{.type = Type::invalid, .value = 3, .detail = "must be 1"},
         "FieldValueInvalid",
         "Invalid value: 3: must be 1"},
        {{.type = Type::invalid, .value = Json::object({{"b", 1}, {"a", Json::array({true, nullptr})}})},
         "FieldValueInvalid",
         "Invalid value: {\"a\":[true,null],\"b\":1}"},
        {{.type = Type::invalid, .detail = "too late"}, "FieldValueInvalid", "Invalid value: null: too late"},
        {{.type = Type::not_supported, .value = "x", .supported = {"a", "b"}},
         "FieldValueNotSupported",
         "Unsupported value: \"x\": supported values: \"a\", \"b\""},
        {{.type = Type::not_supported, .value = "x"}, "FieldValueNotSupported", "Unsupported value: \"x\""},
        {{.type = Type::forbidden, .value = 1, .detail = "field is immutable"},
         "FieldValueForbidden",
         "Forbidden: field is immutable"},
        {{.type = Type::duplicate, .value = "x"}, "FieldValueDuplicate", "Duplicate value: \"x\""},
        {{.type = Type::internal, .detail = "no idea"}, "InternalError", "Internal error: no idea"},
    };
    for (const Case& c : cases) {
        CHECK(body(c.error) == c.body);
        CHECK(cause_reason(c.error.type) == c.reason);
    }
}

TEST_CASE("a field error shows a text that nobody can read to its end by its beginning", "[api]") {
    const auto shown = [](const std::string& value) {
        return body({.type = Type::invalid, .value = value, .detail = "no"});
    };
    const std::string longest(256, 'x');
    CHECK(shown(longest) == "Invalid value: \"" + longest + "\": no");
    CHECK(shown(longest + "y") == "Invalid value: \"" + longest + "...\": no");
    CHECK(shown(longest.substr(1) + "\u00e9") == "Invalid value: \"" + longest.substr(1) + "\u00e9\": no");
}

TEST_CASE("several field errors are listed in order, equal ones once", "[api]") {
    const FieldError first = {.type = Type::required, .field = "spec.b", .detail = "x"};
    const FieldError second = {.type = Type::forbidden, .field = "spec.a", .detail = "y"};
    CHECK(describe(FieldErrors{}).empty());
    CHECK(describe(FieldErrors{first}) == "spec.b: Required value: x");
    CHECK(describe(FieldErrors{first, first}) == "spec.b: Required value: x");
    CHECK(describe(FieldErrors{first, second, first}) == "[spec.b: Required value: x, spec.a: Forbidden: y]");
    CHECK(describe(FieldErrors{{.type = Type::internal, .detail = "z"}}) == "Internal error: z");
}
