#include "lifecycle/ttl.hpp"

#include <limits>

#include "concluding.hpp"
#include "text.hpp"

namespace lifecycle {
namespace {

constexpr auto new_jobs = api::TtlAppliesTo::new_jobs;
constexpr auto all_jobs = api::TtlAppliesTo::all_jobs;

}  // namespace

TEST_CASE("the TTL counts from the end of the job", "[ttl]") {
    constexpr auto max = std::numeric_limits<std::int64_t>::max();
    struct Case {
        const char* name;
        Observed (*from)();
        std::optional<std::int64_t> ttl;
        std::chrono::seconds elapsed;  // since the end, at start + 30 s
        std::optional<std::chrono::seconds> want;
    };
    const auto ended = [] { return completed(); };
    const auto ended_while_suspended = [] {
        Observed observed = completed();
        observed.job->suspend = true;
        return observed;
    };
    const auto being_deleted = [] {
        Observed observed = completed();
        observed.job->meta.deletion = start;
        return observed;
    };
    const auto not_ours = [] {
        Observed observed = completed();
        observed.job->managed_by = "kueue.x-k8s.io/multikueue";
        return observed;
    };
    const auto copy_of_multikueue = [] {
        Observed observed = completed();
        observed.job->is_multikueue_copy = true;
        return observed;
    };
    const Case cases[] = {
        {"counts down", ended, 60, 20s, 40s},
        {"zero passes at once", ended, 0, 0s, 0s},
        {"stays passed", ended, 60, 1h, 0s},
        {"no TTL, no end", ended, std::nullopt, 1h, std::nullopt},
        {"a negative one means nothing", ended, -1, 1h, std::nullopt},
        {"2^63-1 never passes", ended, max, 1h, std::nullopt},
        {"a running job has none", running, 0, 1h, std::nullopt},
        {"a suspended job has none", suspended, 0, 1h, std::nullopt},
        {"a job that ended while suspended has one", ended_while_suspended, 0, 1h, 0s},
        {"a job that is being deleted has none", being_deleted, 0, 1h, std::nullopt},
        {"another controller's job has none", not_ours, 0, 1h, std::nullopt},
        {"a worker's copy of MultiKueue has none", copy_of_multikueue, 0, 1h, std::nullopt},
        {"grows when the clock steps back", ended, 60, -1h, 3660s},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            const Observed observed = c.from();
            CHECK(time_to_live(*observed.job, c.ttl, start + 30s + c.elapsed) == c.want);
            CHECK((ttl_matters(observed) || !c.want));
        }
}

TEST_CASE("a job's own TTL counts, else the longer one of its runtime then and now", "[ttl]") {
    using Ttl = std::optional<std::int64_t>;
    struct Case {
        const char* name;
        Ttl own, then;
        bool knows_then;
        Ttl now;
        bool has_runtime;
        Ttl want;
    };
    constexpr Ttl none = {};
    const Case cases[] = {
        {"the same", none, 10, true, 10, true, 10},
        {"it was prolonged", none, 10, true, 20, true, 20},
        {"it was shortened", none, 20, true, 10, true, 20},
        {"it was removed", none, 10, true, none, true, none},
        {"it was set since", none, none, true, 10, true, none},
        {"the runtime is gone", none, 10, true, none, false, 10},
        {"the runtime is gone and never had one", none, none, true, none, false, none},
        {"what it began with is not known", none, none, false, 10, true, none},
        {"nothing is known", none, none, false, none, false, none},
        {"its own is shorter", 5, 10, true, 20, true, 5},
        {"its own is longer", 30, 10, true, 20, true, 30},
        {"its own alone", 5, none, false, none, false, 5},
        {"its own is zero", 0, 10, true, 20, true, 0},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            api::TrainJob job = *completed().job;
            job.ttl_seconds_after_finished = c.own;
            const api::RunPolicy then = {.ttl_seconds_after_finished = c.then};
            const api::RunPolicy now = {.ttl_seconds_after_finished = c.now};
            const api::RunPolicy* live = c.has_runtime ? &now : nullptr;
            CHECK(ttl_policy(job, c.knows_then ? &then : nullptr, live, new_jobs) == c.want);
            // Where it is not asked for, it makes no difference.
            if (!ttl_needs_beginning(job, live, new_jobs))
                CHECK(ttl_policy(job, nullptr, live, new_jobs) == c.want);
        }
}

TEST_CASE("no TTL is longer than the maximum with which a job began", "[ttl]") {
    using Ttl = std::optional<std::int64_t>;
    constexpr Ttl none = {};
    struct Case {
        const char* name;
        Ttl own, then, now, want;
    };
    const Case cases[] = {{"its own is longer", 61, none, none, 60},
                          {"its own is the maximum", 60, none, none, 60},
                          {"its own is shorter", 0, none, none, 0},
                          {"there is none at all", none, none, none, 60},
                          {"the runtime's was removed", none, 10, none, 60},
                          {"the runtime's was prolonged", none, 10, 50, 50},
                          {"the runtime's was prolonged beyond it", none, 10, 70, 60},
                          {"one was set since", none, none, 10, 60}};
    const auto check = [&](const Case& c, const api::RunPolicy* live) {
        api::TrainJob job = *completed().job;
        job.ttl_seconds_after_finished = c.own;
        const api::RunPolicy then = {.ttl_seconds_after_finished = c.then,
                                     .max_ttl_seconds_after_finished = 60};
        CHECK(ttl_policy(job, &then, live, new_jobs) == c.want);
        // Not known: the job stays at least as long.
        CHECK(ttl_policy(job, nullptr, live, new_jobs) == c.own);
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            // That of now concerns later jobs.
            for (const Ttl& most_now : {none, Ttl(5), Ttl(1000)}) {
                const api::RunPolicy now = {.ttl_seconds_after_finished = c.now,
                                            .max_ttl_seconds_after_finished = most_now};
                check(c, &now);
            }
        }
    SECTION("the runtime is gone") {
        check({"", none, none, none, 60}, nullptr);
        check({"", none, 10, none, 10}, nullptr);
        check({"", 70, 10, none, 60}, nullptr);
    }
    SECTION("the maximum of now is that of another job") {
        api::TrainJob job = *completed().job;
        const api::RunPolicy then, now = {.max_ttl_seconds_after_finished = 60};
        CHECK(ttl_policy(job, &then, &now, new_jobs) == none);
        job.ttl_seconds_after_finished = 70;
        CHECK(ttl_policy(job, &then, &now, new_jobs) == 70);
    }
    SECTION("the manager of MultiKueue has the status of the worker") {
        api::TrainJob job = *completed().job;
        job.managed_by = "kueue.x-k8s.io/multikueue";
        job.ttl_seconds_after_finished = 70;
        const api::RunPolicy then = {.max_ttl_seconds_after_finished = 60};
        CHECK(ttl_policy(job, &then, &then, new_jobs) == 70);
    }
}

TEST_CASE("what a job began with is read where a TTL or a maximum of now hints at it", "[ttl]") {
    const api::RunPolicy none, ttl = {.ttl_seconds_after_finished = 10},
                               most = {.max_ttl_seconds_after_finished = 10};
    api::TrainJob job = *completed().job;
    CHECK(ttl_needs_beginning(job, nullptr, new_jobs));
    CHECK_FALSE(ttl_needs_beginning(job, &none, new_jobs));
    CHECK(ttl_needs_beginning(job, &ttl, new_jobs));
    CHECK(ttl_needs_beginning(job, &most, new_jobs));
    job.ttl_seconds_after_finished = 5;
    CHECK_FALSE(ttl_needs_beginning(job, nullptr, new_jobs));
    CHECK_FALSE(ttl_needs_beginning(job, &ttl, new_jobs));
    CHECK(ttl_needs_beginning(job, &most, new_jobs));
    job.managed_by = "kueue.x-k8s.io/multikueue";
    CHECK_FALSE(ttl_needs_beginning(job, &most, new_jobs));
}

TEST_CASE("a TrainJob of MultiKueue's manager goes by its own TTL alone", "[ttl]") {
    Observed observed = completed();
    observed.job->managed_by = "kueue.x-k8s.io/multikueue";
    observed.ttl = 60;
    CHECK_FALSE(ttl_matters(observed));
    CHECK(std::holds_alternative<Ignore>(decide(observed, start + 1h)));
    observed.job->ttl_seconds_after_finished = 60;
    CHECK(ttl_matters(observed));
    const auto after = [&](std::chrono::seconds elapsed) { return conclude_after(observed, elapsed); };
    CHECK(after(89s).requeue_after == 1s);
    CHECK(after(90s).requeue_after == std::nullopt);
    CHECK(text(after(90s).events) == "Normal TTLExpired");
    CHECK(after(90s).events[0].note == "TrainJob is deleted: its TTL has passed");
    for (const auto elapsed : {89s, 90s}) CHECK_FALSE(after(elapsed).status_changed);
    const Decision expired = decide(observed, start + 90s);
    CHECK(std::holds_alternative<Expire>(expired));
    CHECK(needs_live(expired, observed) == Live::all);
    // Another try, and no word of it in the status.
    const Conclusion blind = conclude(
        observed, expired, {.result = ReadFailed{"TrainJob default/job", lost_connection}}, start + 90s);
    CHECK(blind.requeue_after == 1s);
    CHECK_FALSE(blind.status_changed);

    for (void (*keep)(api::TrainJob&) : {+[](api::TrainJob& job) { job.managed_by = "example.com/other"; },
                                         +[](api::TrainJob& job) { job.is_multikueue_copy = true; },
                                         +[](api::TrainJob& job) { job.meta.deletion = start; },
                                         +[](api::TrainJob& job) { job.conditions = {created()}; }}) {
        Observed kept = observed;
        keep(*kept.job);
        CHECK(std::holds_alternative<Ignore>(decide(kept, start + 90s)));
    }
}

TEST_CASE("a live runtime whose times count for all counts alone", "[ttl]") {
    api::TrainJob job = *completed().job;
    const api::RunPolicy then = {.ttl_seconds_after_finished = 70, .max_ttl_seconds_after_finished = 100};
    const api::RunPolicy now = {.ttl_seconds_after_finished = 5, .max_ttl_seconds_after_finished = 50};
    const api::RunPolicy none;
    CHECK_FALSE(ttl_needs_beginning(job, &now, all_jobs));
    CHECK(ttl_needs_beginning(job, nullptr, all_jobs));
    CHECK(ttl_policy(job, &then, &now, new_jobs) == 70);
    for (const api::RunPolicy* began_with : {&then, static_cast<const api::RunPolicy*>(nullptr)}) {
        CHECK(ttl_policy(job, began_with, &now, all_jobs) == 5);
        CHECK_FALSE(ttl_policy(job, began_with, &none, all_jobs));
    }
    CHECK(ttl_policy(job, &then, nullptr, all_jobs) == 70);
    job.ttl_seconds_after_finished = 80;
    CHECK(ttl_policy(job, &then, &now, all_jobs) == 50);
    job.ttl_seconds_after_finished = 20;
    CHECK(ttl_policy(job, &then, &now, all_jobs) == 20);
    job.managed_by = std::string(api::managed_by_multikueue);
    CHECK(ttl_policy(job, &then, &now, all_jobs) == 20);
}

}  // namespace lifecycle
