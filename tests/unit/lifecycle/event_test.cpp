#include "lifecycle/event.hpp"

#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {

TEST_CASE("a note is cut between two characters", "[event]") {
    CHECK(normal_event("R", std::string(2000, 'x')).note.size() == 1024);
    std::string euros;
    for (int i = 0; i < 1000; ++i) euros += "\xE2\x82\xAC";
    const std::string note = warning_event("R", euros).note;
    CHECK(note.size() == 1023);
    CHECK(euros.substr(0, 1023) == note);
    CHECK(normal_event(std::string(200, 'R'), "").reason.size() == 128);
}

TEST_CASE("what is new about our conditions becomes an event", "[event]") {
    const std::vector<api::Condition> before = {created(), condition("Suspended", "True", "Suspended")};
    const auto event_of = [&](api::Condition changed) {
        std::vector<api::Condition> after = before;
        if (const auto at =
                std::find_if(after.begin(), after.end(), [&](auto& c) { return c.type == changed.type; });
            at != after.end())
            *at = changed;
        else
            after.push_back(changed);
        return text(condition_events(before, after));
    };
    CHECK(condition_events(before, before).empty());
    CHECK(event_of(condition("Created", "False", "JobsBuildFailed")) == "Warning JobsBuildFailed");
    CHECK(event_of(condition("Suspended", "False", "Resumed")) == "Normal Resumed");
    CHECK(event_of(condition("Complete", "True", "AllJobsCompleted")) == "Normal AllJobsCompleted");
    CHECK(event_of(condition("Failed", "True", "DeadlineExceeded")) == "Warning DeadlineExceeded");
    CHECK(event_of(condition("Suspended", "True", "Suspended", start, "another message")) ==
          "Normal Suspended");
    CHECK(event_of(condition("Plugin", "True", "Any")).empty());
    // What is behind it has an event of its own.
    CHECK(event_of(condition("Restarting", "True", "BackingOff")).empty());

    api::Condition newer = created();
    newer.observed_generation = 9;
    newer.last_transition += 5s;
    CHECK(event_of(newer).empty());
    CHECK(condition_events(before, {}).empty());
}

}  // namespace lifecycle
