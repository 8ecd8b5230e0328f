#include "lifecycle/deadline.hpp"

#include <limits>

#include "concluding.hpp"
#include "text.hpp"

namespace lifecycle {
namespace {

constexpr auto max = std::numeric_limits<std::int64_t>::max();

void suspend_condition(api::TrainJob& job, const char* status, std::chrono::seconds at) {
    job.conditions.push_back(condition("Suspended", status, "Any", start + at));
}

}  // namespace

TEST_CASE("the deadline counts from creation or the last resume", "[deadline]") {
    struct Case {
        const char* name;
        void (*change)(api::TrainJob&);
        std::chrono::seconds elapsed;
        std::optional<std::chrono::seconds> want;
    };
    const Case cases[] = {
        {"counts down", [](auto&) {}, 20s, 40s},
        {"is not reached a second before", [](auto&) {}, 59s, 1s},
        {"is zero when it is reached", [](auto&) {}, 60s, 0s},
        {"stays zero", [](auto&) {}, 1h, 0s},
        {"needs a limit", [](auto& j) { j.active_deadline_seconds.reset(); }, 1h, std::nullopt},
        {"ignores a limit of zero", [](auto& j) { j.active_deadline_seconds = 0; }, 1h, std::nullopt},
        {"ignores a negative limit", [](auto& j) { j.active_deadline_seconds = -5; }, 1h, std::nullopt},
        {"is off while the spec says suspended", [](auto& j) { j.suspend = true; }, 1h, std::nullopt},
        {"is off while the status says suspended", [](auto& j) { suspend_condition(j, "True", 10s); }, 1h,
         std::nullopt},
        {"counts from the resume", [](auto& j) { suspend_condition(j, "False", 1h); }, 1h + 20s, 40s},
        {"is off after the next suspension",
         [](auto& j) {
             suspend_condition(j, "False", 1h);
             j.suspend = true;
         },
         2h, std::nullopt},
        {"grows when the clock steps back", [](auto&) {}, -1h, 3660s},
        {"passes when the clock steps forward", [](auto&) {}, 1h, 0s},
        {"never comes at 2^63-1", [](auto& j) { j.active_deadline_seconds = max; }, 1h, std::nullopt},
        {"never comes at 2^63-1 from a resume",
         [](auto& j) {
             j.active_deadline_seconds = max;
             suspend_condition(j, "False", 10s);
         },
         1h, std::nullopt},
        {"comes late at 2^62", [](auto& j) { j.active_deadline_seconds = max / 2 + 1; }, 0s,
         std::chrono::seconds(max / 2 + 1)},
        {"does not overflow for a creation before 1970",
         [](auto& j) {
             j.meta.creation = api::Time(-100s);
             j.active_deadline_seconds = max;
         },
         0s, std::chrono::seconds(max - 100 - start.time_since_epoch().count())},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            Observed observed = with_deadline(running());
            c.change(*observed.job);
            CHECK(time_left(observed, start + c.elapsed) == c.want);
        }
}

TEST_CASE("whether a job may have been resumed before any reconcile saw it", "[deadline]") {
    Observed observed = with_deadline(submitted());
    api::TrainJob& job = *observed.job;
    CHECK_FALSE(may_have_been_resumed(observed));  // its spec never changed
    job.meta.generation = 2;
    CHECK(may_have_been_resumed(observed));
    const auto not_if = [&](auto change) {
        Observed other = observed;
        change(*other.job);
        return !may_have_been_resumed(other);
    };
    CHECK(not_if([](auto& j) { j.suspend = true; }));
    CHECK(not_if([](auto& j) { j.active_deadline_seconds.reset(); }));
    CHECK(not_if([](auto& j) { j.conditions.push_back(condition("Suspended", "False", "Resumed")); }));
    CHECK(not_if([](auto& j) { j.conditions.push_back(created()); }));
    CHECK(not_if([](auto& j) { j.managed_by = "kueue.x-k8s.io/multikueue"; }));
    CHECK(not_if([](auto& j) { j.meta.deletion = start; }));
    // It could not be built yet.
    job.conditions.push_back(condition("Created", "False", "JobsBuildFailed"));
    CHECK(may_have_been_resumed(observed));
    // The runtime may give it a deadline.
    job.active_deadline_seconds.reset();
    observed.live_policy = api::RunPolicy{.active_deadline_seconds = 60};
    CHECK(may_have_been_resumed(observed));
}

TEST_CASE("when a job was resumed that no reconcile had seen, its managedFields tell", "[deadline]") {
    const auto resumed = [](const char* managed_fields) {
        api::Json job = *api::parse_json(R"({"metadata":{"creationTimestamp":"2026-01-15T10:00:00Z"}})");
        job["metadata"]["managedFields"] = *api::parse_json(managed_fields);
        return first_resume(job, start + 600s);
    };
    CHECK(resumed(
              R"([{"manager":"kubectl","time":"2026-01-15T10:00:00Z","fieldsV1":{"f:spec":{"f:trainer":{}}}},
        {"manager":"kueue","time":"2026-01-15T10:05:00Z","fieldsV1":{"f:spec":{"f:suspend":{}}}},
        {"manager":"other","time":"2026-01-15T10:07:00Z","fieldsV1":{"f:metadata":{"f:labels":{}}}}])") ==
          start + 300s);
    CHECK(
        resumed(
            R"([{"manager":"kubectl","time":"2026-01-15T10:00:00Z","fieldsV1":{"f:spec":{"f:suspend":{}}}}])") ==
        std::nullopt);
    // Where nothing tells it is now, and never later than that.
    CHECK(resumed("[]") == start + 600s);
    CHECK(resumed(
              R"([{"manager":"k","time":"2026-01-15T11:00:00Z","fieldsV1":{"f:spec":{"f:suspend":{}}}}])") ==
          start + 600s);
}

TEST_CASE("a job that is first seen after its resume has its whole deadline", "[deadline]") {
    Observed observed = with_deadline(submitted(), 60s);
    observed.job->meta.generation = 2;
    const api::Time now = start + 1h;
    // What the caches tell says nothing yet, and so is not acted on.
    const Decision blind = decide(observed, now);
    CHECK(needs_live(blind, observed) == Live::all);
    observed.first_resume = now - 20s;
    CHECK(std::holds_alternative<StoreTransition>(decide(observed, now)));
    const Conclusion stored = conclude(observed, decide(observed, now), {}, now);
    CHECK(stored.decide_again);
    CHECK(get(stored, "Suspended").reason == "Resumed");
    CHECK(get(stored, "Suspended").last_transition == now - 20s);
    observed.job->conditions = stored.conditions;
    CHECK(time_left(observed, now) == 40s);
    CHECK(std::holds_alternative<Run>(decide(observed, now)));
}

TEST_CASE("the deadline is the job's, else its runtime's default, and at most its runtime's maximum",
          "[deadline]") {
    using Source = ActiveDeadline::Source;
    struct Case {
        std::optional<std::int64_t> own, usual, most;
        std::optional<ActiveDeadline> want;
    };
    const Case cases[] = {
        {{}, {}, {}, {}},
        {60, {}, {}, ActiveDeadline{60, Source::train_job}},
        {{}, 50, {}, ActiveDeadline{50, Source::runtime_default}},
        {{}, {}, 40, ActiveDeadline{40, Source::runtime_maximum}},
        {60, 50, {}, ActiveDeadline{60, Source::train_job}},
        {60, 50, 60, ActiveDeadline{60, Source::train_job}},
        {60, 50, 59, ActiveDeadline{59, Source::runtime_maximum}},
        {{}, 50, 59, ActiveDeadline{50, Source::runtime_default}},
        {{}, 50, 49, ActiveDeadline{49, Source::runtime_maximum}},
        {0, 50, {}, ActiveDeadline{50, Source::runtime_default}},
    };
    for (const Case& c : cases) {
        CAPTURE(c.own, c.usual, c.most);
        Observed observed = running();
        observed.job->active_deadline_seconds = c.own;
        observed.job->run_policy =
            api::RunPolicy{.active_deadline_seconds = c.usual, .max_active_deadline_seconds = c.most};
        CHECK(active_deadline(observed) == c.want);
    }
}

TEST_CASE("the end by a deadline says what it is of", "[deadline]") {
    const auto details = [](std::optional<std::int64_t> own, const api::RunPolicy& policy) {
        Observed observed = running();
        observed.job->active_deadline_seconds = own;
        observed.job->run_policy = policy;
        const Decision decision = decide(observed, start + 1h);
        const auto* finish = std::get_if<Finish>(&decision);
        REQUIRE(finish);
        CHECK(finish->condition.reason == "DeadlineExceeded");
        CHECK(finish->condition.message == "TrainJob exceeded its active deadline");
        return finish->details;
    };
    CHECK(details(60, {}) == " of 60s: spec.activeDeadlineSeconds");
    CHECK(details({}, {.active_deadline_seconds = 50}) == " of 50s: default of ClusterTrainingRuntime torch");
    CHECK(details(60, {.max_active_deadline_seconds = 40}) ==
          " of 40s: maximum of ClusterTrainingRuntime torch");
}

}  // namespace lifecycle
