#include "lifecycle/at_risk.hpp"

#include "story.hpp"

namespace lifecycle {
namespace {

// An hour of ten is over, and the rest takes three hours.
Observed estimating() {
    Observed observed = with_deadline(running(), 10h);
    observed.progress_watch = ProgressWatch::reports;
    observed.job->trainer_status = {.last_progress = start + 1h,
                                    .last_updated = start + 1h,
                                    .remaining_seconds = std::chrono::seconds(3h).count()};
    return observed;
}

void needs(Observed& observed, std::chrono::seconds time) {
    observed.job->trainer_status.remaining_seconds = time.count();
}

}  // namespace

TEST_CASE("a TrainJob is at risk if its estimate exceeds what its deadline leaves by 5 % and a minute",
          "[progress]") {
    struct Case {
        const char* name;
        void (*change)(Observed&);
        bool at_risk;
    };
    const Case cases[] = {
        {"it fits", [](auto&) {}, false},
        {"it does not fit by less", [](auto& o) { needs(o, 9h + 27min + 60s); }, false},
        {"it does not fit by more", [](auto& o) { needs(o, 9h + 27min + 61s); }, true},
        {"the estimate is old",
         [](auto& o) {
             needs(o, 9h + 27min + 61s);
             o.job->trainer_status.last_updated = start + 1h - 1s;
         },
         false},
        {"its clock is ahead",
         [](auto& o) {
             needs(o, 9h + 27min + 61s);
             o.job->trainer_status.last_updated = start + 24h;
         },
         true},
        {"no report since the last start",
         [](auto& o) {
             needs(o, 24h);
             o.job->conditions.push_back(condition("Suspended", "False", "Resumed", start + 1h + 1s));
         },
         false},
        {"no deadline",
         [](auto& o) {
             needs(o, 24h);
             o.job->active_deadline_seconds.reset();
         },
         false},
        {"no estimate", [](auto& o) { o.job->trainer_status.remaining_seconds.reset(); }, false},
        {"no reports are watched",
         [](auto& o) {
             needs(o, 24h);
             o.progress_watch = ProgressWatch::off;
         },
         false},
        {"it is suspended",
         [](auto& o) {
             needs(o, 24h);
             o.job->suspend = true;
         },
         false},
    };
    for (const Case& c : cases) {
        CAPTURE(c.name);
        Observed observed = estimating();
        c.change(observed);
        CHECK(overrun(observed, start + 1h).has_value() == c.at_risk);
    }
}

TEST_CASE("that a TrainJob is at risk is reported once until it fits again", "[progress]") {
    Story story{.observed = estimating()};
    const auto look = [&](std::chrono::seconds elapsed, std::chrono::seconds time) {
        story.now = start + elapsed;
        story.observed.job->trainer_status.last_updated = story.now;
        needs(story.observed, time);
        return story.reconcile({});
    };
    CHECK(look(1h, 3h).events.empty());
    const Conclusion at_risk = look(9h, 3h);
    REQUIRE(at_risk.events.size() == 1);
    CHECK(at_risk.events.front().note == "will not finish before its deadline: needs 3h, has 1h left");
    CHECK(at_risk.events.front().type == EventType::warning);
    CHECK_FALSE(at_risk.status_changed);
    look(9h + 10s, 3h);
    look(9h + 20s, 30min);
    look(9h + 30s, 3h);
    CHECK(story.reported == "32400 DeadlineAtRisk, 32430 DeadlineAtRisk");

    // Neither an error nor a failed write of the status repeats it.
    const Conclusion failed = after_failed_status_write(story.reconcile(refused(lost_connection)),
                                                        story.observed, lost_connection, story.now);
    CHECK(failed.retry_state.is_at_risk);
    CHECK(story.reported == "32400 DeadlineAtRisk, 32430 DeadlineAtRisk");
}

}  // namespace lifecycle
