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

TEST_CASE("a field error shows the beginning of a very long text", "[api]") {
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

TEST_CASE("of many errors the first hundred that differ are kept, and the others counted", "[api]") {
    const auto error = [](int number) {
        return FieldError{.type = Type::invalid, .field = "spec.list", .value = number, .detail = "no"};
    };
    FieldErrors errors;
    for (int i = 0; i < 100; ++i) {
        errors.push_back(error(i));
        errors.push_back(error(0));
    }
    CHECK(errors.size() == 100);
    CHECK(errors.more() == 0);
    FieldErrors others;
    for (int i = 90; i < 250; ++i) others.push_back(error(i));
    CHECK(others.size() == 100);
    CHECK(others.more() == 60);
    errors.append(std::move(others));
    CHECK(errors.size() == 100);
    CHECK(errors.more() == 90 + 60);
    errors.leave_out(3);
    CHECK(describe(errors).ends_with("spec.list: Invalid value: 99: no] and 153 more"));
}

TEST_CASE("errors with huge texts are stored up to the length that is shown", "[api]") {
    const std::string huge(1 << 20, 'x');
    Json::Array names(100'000, "name");
    FieldErrors errors;
    for (int i = 0; i < 100; ++i)
        errors.push_back({.field = std::to_string(i) + huge, .value = huge, .detail = huge});
    errors = {errors[0], {.field = "spec", .value = std::move(names), .detail = "too many names"}};
    for (const FieldError& error : errors)
        CHECK(error.field.size() + to_json(error.value).size() + error.detail.size() < 6000);
    CHECK(body(errors[1]).starts_with("Invalid value: \"[\\\"name\\\",\\\"name\\\","));
}
