#include "lifecycle/conditions.hpp"

#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {
namespace {

api::Condition of(std::string_view type, std::string_view status) { return condition(type, status, "Any"); }

std::string types(const std::vector<api::Condition>& conditions) {
    std::string words;
    for (const auto& c : conditions) words += (words.empty() ? "" : " ") + c.type + (c.is_true() ? "+" : "-");
    return words;
}

}  // namespace

TEST_CASE("the last condition is the job's state", "[conditions]") {
    struct Row {
        const char* name;
        std::vector<api::Condition> conditions;
        const char* want;
    };
    const Row rows[] = {
        {"created", {of("Created", "True")}, "Created+"},
        {"suspended", {of("Suspended", "True"), of("Created", "True")}, "Created+ Suspended+"},
        {"resumed", {of("Created", "True"), of("Suspended", "False")}, "Suspended- Created+"},
        {"between two attempts",
         {of("Restarting", "True"), of("P", "True"), of("Created", "True"), of("Suspended", "False")},
         "Suspended- P+ Created+ Restarting+"},
        {"suspended between two attempts",
         {of("Suspended", "True"), of("Restarting", "True"), of("Created", "True")},
         "Created+ Restarting+ Suspended+"},
        {"complete",
         {of("Complete", "True"), of("Created", "True"), of("Suspended", "False")},
         "Suspended- Created+ Complete+"},
        {"ended while suspended",
         {of("Failed", "True"), of("Suspended", "True"), of("Created", "True")},
         "Created+ Suspended+ Failed+"},
        {"not created and suspended",
         {of("Created", "False"), of("Suspended", "True")},
         "Suspended+ Created-"},
        {"not created and ended",
         {of("Created", "False"), of("Failed", "True"), of("Suspended", "False")},
         "Suspended- Created- Failed+"},
        {"plugins' stand inside",
         {of("P", "True"), of("Q", "False"), of("Created", "True"), of("Suspended", "False"),
          of("R", "Unknown"), of("Complete", "True")},
         "Suspended- Q- R- P+ Created+ Complete+"},
        {"not created and plugins'",
         {of("Created", "False"), of("P", "True"), of("Q", "False")},
         "Q- P+ Created-"},
    };
    for (const Row& row : rows) DYNAMIC_SECTION(row.name) {
            const auto ordered = in_order(row.conditions);
            CHECK(types(ordered) == row.want);
            CHECK(in_order(ordered) == ordered);
        }
}

TEST_CASE("at most eight conditions, the plugins' go first", "[conditions]") {
    std::vector<api::Condition> conditions;
    for (const char* type : {"A", "B", "C", "D", "E", "F", "G"}) conditions.push_back(of(type, "True"));
    conditions.insert(conditions.begin(), of("Suspended", "False"));
    conditions.push_back(of("Created", "True"));
    conditions.push_back(of("Complete", "True"));
    CHECK(types(in_order(conditions)) == "Suspended- A+ B+ C+ D+ E+ Created+ Complete+");
}

TEST_CASE("a transition time changes only with the status and never goes back", "[conditions]") {
    struct Row {
        const char* name;
        const char* status;
        std::chrono::seconds now;
        std::chrono::seconds given;  // zero: not given
        std::chrono::seconds want;
    };
    const Row rows[] = {
        {"another status, later", "False", 1h, 0s, 1h},
        {"the same status", "True", 1h, 0s, 0s},
        {"another status after the clock stepped back", "False", -1h, 0s, 0s},
        {"another status that came about earlier than we noticed", "False", 1h, 30min, 30min},
        {"another status, given with a time that is too early", "False", 1h, -30min, 0s},
        {"the same status, given with a time", "True", 1h, 30min, 0s},
    };
    for (const Row& row : rows) DYNAMIC_SECTION(row.name) {
            std::vector<api::Condition> conditions = {condition("Suspended", "True", "Suspended", start)};
            const api::Time given = row.given == 0s ? api::Time() : start + row.given;
            set_condition(conditions, condition("Suspended", row.status, "New", given, "new"),
                          start + row.now);
            REQUIRE(conditions.size() == 1);
            CHECK((conditions[0].last_transition - start) == row.want);
            CHECK(conditions[0].reason == "New");
            CHECK(conditions[0].message == "new");
        }
}

TEST_CASE("what the API server would refuse is put right", "[conditions]") {
    const auto stored = [](std::string reason, std::string message) {
        std::vector<api::Condition> conditions;
        set_condition(conditions, condition("Failed", "True", reason, start, std::move(message)), start);
        return conditions.front();
    };
    CHECK(stored("", "").reason == "Failed");
    CHECK(stored("not a reason", "").reason == "Failed");
    CHECK(stored("EndsWith:", "").reason == "Failed");
    CHECK(stored(std::string(1025, 'a'), "").reason == "Failed");
    CHECK(stored("Fine_1:a,b", "").reason == "Fine_1:a,b");
    CHECK(stored("A", "").reason == "A");

    CHECK(stored("A", std::string(100'000, 'x')).message == std::string(32'768, 'x'));
    std::string umlauts;
    for (int i = 0; i < 40'000; ++i) umlauts += "ü";
    CHECK(stored("A", umlauts).message == umlauts.substr(0, 2 * 32'768));
    CHECK(stored("A", "a\xff\xc3").message == "a\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK(stored("A", "\xE2\x82\xAC \xF0\x9F\x8E\x89").message == "\xE2\x82\xAC \xF0\x9F\x8E\x89");
    // A surrogate, an overlong form and a cut character are no UTF-8.
    CHECK(stored("A", "\xED\xA0\x80").message == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK(stored("A", "\xC0\x80").message == "\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK(stored("A", "\xE2\x82").message == "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("plugins may add conditions, but not ours", "[conditions]") {
    std::vector<api::Condition> conditions = {created()};
    const std::vector<api::Condition> contributed = {
        of("Created", "False"),   of("Suspended", "True"),
        of("Complete", "True"),   of("Failed", "True"),
        of("", "True"),           of("-Bad", "True"),
        of("Bad Type", "True"),   of("Ready", "Maybe"),
        of("/Ready", "True"),     of("Example.com/Ready", "True"),
        of("a..b/Ready", "True"), condition("Ready", "True", ""),
        of("Ready", "True"),      of("example.com/Ready", "Unknown"),
        of("Stalled", "True"),    of("Restarting", "True"),
    };
    merge_plugin_conditions(conditions, contributed, 7, start + 1h);
    CHECK(types(conditions) == "Created+ Ready+ example.com/Ready-");
    CHECK(conditions[1].last_transition == start + 1h);
    CHECK(conditions[1].observed_generation == 7);

    merge_plugin_conditions(conditions, contributed, 8, start + 2h);
    CHECK(conditions[1].last_transition == start + 1h);
    CHECK(conditions[1].observed_generation == 8);

    merge_plugin_conditions(conditions, std::vector{of("Ready", ""), of("Created", "")}, 8, start + 3h);
    CHECK(types(conditions) == "Created+ example.com/Ready-");
}

}  // namespace lifecycle
