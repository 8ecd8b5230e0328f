#include "api/condition.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using namespace api;

TEST_CASE("conditions are read from a status", "[api]") {
    const auto conditions = parse_conditions(*parse_json(R"([
        {"type": "Complete", "status": "True", "reason": "AllJobsCompleted", "message": "done",
         "lastTransitionTime": "2026-01-15T10:00:00Z", "observedGeneration": 2},
        {"type": "Failed", "status": "False"}])"));
    REQUIRE(conditions.size() == 2);
    CHECK(conditions[0] == Condition{.type = "Complete",
                                     .status = "True",
                                     .reason = "AllJobsCompleted",
                                     .message = "done",
                                     .last_transition = *parse_time("2026-01-15T10:00:00Z"),
                                     .observed_generation = 2});
    CHECK(conditions[1] == Condition{.type = "Failed", .status = "False"});
}

TEST_CASE("conditions of any shape are read without an error", "[api]") {
    for (const char* text : {"null", "{}", "3", "[]", "[null, 3, [], {}]", R"([{"type": 3}, {"type": ""}])"})
        CHECK(parse_conditions(*parse_json(text)).empty());
    const auto odd = parse_conditions(*parse_json(
        R"([{"type": "A", "status": true, "lastTransitionTime": "x", "observedGeneration": "2"}])"));
    CHECK(odd == std::vector<Condition>{{.type = "A"}});
}

TEST_CASE("a condition is found by its type", "[api]") {
    const std::vector<Condition> conditions = {{.type = "Suspended", .status = "True"},
                                               {.type = "Created", .status = "False"}};
    CHECK(find_condition(conditions, "Created") == &conditions[1]);
    CHECK(find_condition(conditions, "created") == nullptr);
    CHECK(is_true(conditions, "Suspended"));
    CHECK_FALSE(is_true(conditions, "Created"));
    CHECK_FALSE(is_true(conditions, "Failed"));
}

TEST_CASE("a condition is written and read back", "[api]") {
    const Condition condition = {.type = "Failed",
                                 .status = "True",
                                 .reason = "DeadlineExceeded",
                                 .message = "TrainJob exceeded its active deadline",
                                 .last_transition = *parse_time("2026-01-15T10:00:00Z")};
    const Json tree = to_json_tree(condition);
    CHECK(to_json(tree) ==
          R"({"lastTransitionTime":"2026-01-15T10:00:00Z","message":"TrainJob exceeded its active deadline",)"
          R"("reason":"DeadlineExceeded","status":"True","type":"Failed"})");
    CHECK(parse_conditions(Json::array({tree})) == std::vector{condition});
}
