#include "explain/differences.hpp"

#include <catch2/catch.hpp>

TEST_CASE("two trees differ at readable paths", "[explain]") {
    struct Row {
        const char* name;
        const char* before;
        const char* after;
        std::vector<std::string> lines;
    };
    const Row rows[] = {
        {"nothing", R"({"a": [1, {"b": 2}]})", R"({"a": [1, {"b": 2}]})", {}},
        {"a value", R"({"a": {"b": 1}})", R"({"a": {"b": 2}})", {"a.b: 1 -> 2"}},
        {"a new member", R"({})", R"({"a": true})", {"a: nothing -> true"}},
        {"a removed one", R"({"a": {"b": "c"}})", R"({"a": {}})", {R"(a.b: "c" -> nothing)"}},
        {"another type", R"({"a": {}})", R"({"a": []})", {"a: {} -> []"}},
        {"an entry with a name",
         R"({"env": [{"name": "A", "value": "1"}]})",
         R"({"env": [{"name": "A", "value": "2"}]})",
         {R"(env[A].value: "1" -> "2")"}},
        {"one more entry with a name",
         R"({"env": [{"name": "B"}]})",
         R"({"env": [{"name": "A"}, {"name": "B"}]})",
         {R"(env[A]: nothing -> {"name":"A"})"}},
        {"entries without names",
         R"({"args": ["a", "b"]})",
         R"({"args": ["a", "c", "d"]})",
         {R"(args[1]: "b" -> "c")", R"(args[2]: nothing -> "d")"}},
        {"another order",
         R"({"env": [{"name": "A"}, {"name": "B"}]})",
         R"({"env": [{"name": "B"}, {"name": "A"}]})",
         {"env: in another order"}},
        {"a long value",
         R"({"a": 1})",
         R"({"a": "0123456789012345678901234567890123456789"})",
         {R"(a: 1 -> "012345678901234567890123456789012345...)"}},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        CHECK(cli::field_differences(api::parse_json(row.before).value(),
                                     api::parse_json(row.after).value()) == row.lines);
    }
}
