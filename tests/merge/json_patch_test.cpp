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
