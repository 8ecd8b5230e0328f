#include "merge/json_patch.hpp"

#include "tree.hpp"

using merge::JsonPointer;

TEST_CASE("JSON Pointers are escaped as RFC 6901 says", "[merge]") {
    CHECK(JsonPointer().text() == "");
    CHECK((JsonPointer() / "spec" / "runtimePatches" / 0 / "time").text() == "/spec/runtimePatches/0/time");
    CHECK((JsonPointer() / "a/b" / "m~n" / "" / " ").text() == "/a~1b/m~0n// ");
    CHECK((JsonPointer() / "~1").text() == "/~01");
}

TEST_CASE("operations are those of RFC 6902", "[merge]") {
    CHECK(to_json(merge::add_operation(JsonPointer() / "a", 1)) == R"({"op":"add","path":"/a","value":1})");
    CHECK(to_json(merge::remove_operation(JsonPointer() / "a")) == R"({"op":"remove","path":"/a"})");
}

TEST_CASE("operations are applied in order, and those that do not fit are errors", "[merge]") {
    struct Case {
        const char* name;
        const char* operations;
        const char* want;  // nullptr: they do not fit
    };
    const Case cases[] = {
        {"a member is added", R"([{"op":"add","path":"/b","value":2}])", R"({"a":[{"x":1}],"b":2})"},
        {"a member is replaced", R"([{"op":"add","path":"/a","value":2}])", R"({"a":2})"},
        {"an item is inserted", R"([{"op":"add","path":"/a/0","value":0}])", R"({"a":[0,{"x":1}]})"},
        {"an item is appended", R"([{"op":"add","path":"/a/-","value":0}])", R"({"a":[{"x":1},0]})"},
        {"a member of an item", R"([{"op":"add","path":"/a/0/y~1z~0","value":0}])",
         R"({"a":[{"x":1,"y/z~":0}]})"},
        {"one after the other", R"([{"op":"remove","path":"/a/0/x"},{"op":"remove","path":"/a/0"}])",
         R"({"a":[]})"},
        {"no parent", R"([{"op":"add","path":"/c/d","value":2}])", nullptr},
        {"beyond the end", R"([{"op":"add","path":"/a/2","value":2}])", nullptr},
        {"no index", R"([{"op":"remove","path":"/a/x"}])", nullptr},
        {"nothing to remove", R"([{"op":"remove","path":"/c"}])", nullptr},
        {"another operation", R"([{"op":"test","path":"/a","value":2}])", nullptr},
        {"no pointer", R"([{"op":"add","path":"a","value":2}])", nullptr},
        {"into a scalar", R"([{"op":"add","path":"/a/0/x/y","value":2}])", nullptr},
    };
    for (const Case& c : cases) {
        INFO(c.name);
        api::Json object = api::parse_json(R"({"a":[{"x":1}]})").value();
        const auto applied = merge::apply_operations(api::parse_json(c.operations).value().items(), object);
        CHECK(applied.has_value() == (c.want != nullptr));
        if (c.want) CHECK(to_json(object) == c.want);
    }
}
