#include "lifecycle/progress_deadline.hpp"

#include "lifecycle/measurements.hpp"
#include "story.hpp"

namespace lifecycle {
namespace {

// Of 30 min; by the Lease, reports have been accepted since long before.
Observed reporting(const char* action = "Warn") {
    Observed observed = running();
    observed.job->progress_annotations = {"1800", action};
    observed.job->trainer_status = {.last_progress = start + 100s,
                                    .last_updated = start + 100s,
                                    .percentage = 42,
                                    .metrics = {{"loss", "1.93"}, {"current_step", "8400"}}};
    observed.progress_watch = ProgressWatch::deadlines;
    observed.is_live = true;
    return observed;
}

constexpr auto due = 100s + 1800s + 60s;

Availability available(std::chrono::seconds since, std::chrono::seconds renewed) {
    return {.since = start + since, .renewed = start + renewed};
}

// The Lease as it is while its server works.
Observed with_lease(Observed observed, std::chrono::seconds elapsed) {
    observed.availability = available(-24h, elapsed - 5s);
    return observed;
}

Conclusion look(Story& story, std::chrono::seconds elapsed) {
    story.now = start + elapsed;
    story.observed = with_lease(std::move(story.observed), elapsed);
    return story.reconcile({});
}

struct Case {
    const char* name;
    void (*change)(Observed&);
    std::chrono::seconds elapsed;
    bool exceeded;
    std::optional<std::chrono::seconds> next;
};

void check(const Case& c, Observed observed) {
    CAPTURE(c.name);
    observed = with_lease(std::move(observed), c.elapsed);
    c.change(observed);
    CHECK(exceeds_progress_deadline(observed, start + c.elapsed) == c.exceeded);
    CHECK(next_progress_look(observed, start + c.elapsed) == c.next);
}

}  // namespace

TEST_CASE("a progress deadline counts from the last progress since the last start", "[progress]") {
    const Case cases[] = {
        {"it has not passed", [](auto&) {}, due - 1s, false, 1s},
        {"it has passed", [](auto&) {}, due, true, std::nullopt},
        {"progress moves it", [](auto& o) { o.job->trainer_status.last_progress = start + 200s; }, due, false,
         100s},
        {"a report without progress does not",
         [](auto& o) { o.job->trainer_status.last_updated = start + due; }, due, true, std::nullopt},
        {"none before the first report", [](auto& o) { o.job->trainer_status.last_progress.reset(); }, 24h,
         false, std::nullopt},
        {"reports of before the last start arm nothing",
         [](auto& o) {
             o.job->conditions.push_back(condition("Suspended", "False", "Resumed", start + 101s));
         },
         24h, false, std::nullopt},
        {"a report at the last start does",
         [](auto& o) {
             o.job->conditions.push_back(condition("Suspended", "False", "Resumed", start + 100s));
         },
         due, true, std::nullopt},
        {"none while it is suspended", [](auto& o) { o.job->suspend = true; }, 24h, false, std::nullopt},
        {"none while its suspension is stored",
         [](auto& o) {
             o.job->conditions.push_back(condition("Suspended", "True", "Suspended", start + 50s));
         },
         24h, false, std::nullopt},
        {"none after the end", [](auto& o) { o.job->conditions.push_back(condition("Failed", "True", "X")); },
         24h, false, std::nullopt},
        {"none of another controller's", [](auto& o) { o.job->managed_by = "kueue.x-k8s.io/multikueue"; },
         24h, false, std::nullopt},
        {"none without the annotation", [](auto& o) { o.job->progress_annotations = {}; }, 24h, false,
         std::nullopt},
        {"none with an error",
         [](auto& o) {
             o.job->progress_annotations = {"30m", "Fail"};
         },
         24h, false, std::nullopt},
        {"none without its gate", [](auto& o) { o.progress_watch = ProgressWatch::reports; }, 24h, false,
         std::nullopt},
        {"the JobSet has finished",
         [](auto& o) { o.job_set->finished = condition("Completed", "True", "AllJobsCompleted"); }, 24h,
         false, std::nullopt},
        {"the longest limit", [](auto& o) { o.job->progress_annotations.seconds = "2147483647"; }, 24h, false,
         std::chrono::seconds(2147483647) + 160s - 24h},
        {"this clock is an hour ahead: the Lease looks old",
         [](auto& o) { o.availability = available(-24h, 100s - 5s); }, 100s + 3600s, false, 30s},
        {"this clock is an hour behind", [](auto& o) { o.job->trainer_status.last_progress = start + 3700s; },
         100s, false, 3600s + 1860s},
    };
    for (const Case& c : cases) check(c, reporting());
}

TEST_CASE("the clock of a progress deadline starts anew with each attempt", "[progress]") {
    struct Case {
        const char* name;
        std::int64_t restarts;
        std::chrono::seconds made;
        std::optional<std::chrono::seconds> began;
        bool waits;
        bool exceeded;
    };
    const Case cases[] = {
        {"the first one", 0, 0s, 90s, false, true},
        {"the first one has reported before all its Pods had started", 0, 0s, std::nullopt, false, true},
        {"a later one that was made after the report", 1, 101s, std::nullopt, false, false},
        {"a later one that began after the report", 1, 101s, 102s, false, false},
        {"a later one that has reported since", 1, 99s, 100s, false, true},
        {"a later one that has reported before all its Pods had started", 1, 100s, 101s, false, true},
        {"the first one was made anew, as a JobSet that is no attempt may be", 0, 101s, 90s, false, true},
        {"between two of them", 1, 40s, 50s, true, false},
    };
    for (const Case& c : cases) {
        CAPTURE(c.name);
        Observed observed = with_lease(reporting("Fail"), due);
        observed.job_set->is_attempt = true;
        observed.job_set->meta.creation = start + c.made;
        observed.job_set->restarts_before = observed.job_set->restarts = {.all = c.restarts};
        observed.job->restarts = observed.job_set->restarts;
        if (c.began) observed.job->attempt.began = start + *c.began;
        if (c.waits)
            observed.job->conditions.push_back(condition("Restarting", "True", "BackingOff", start + 60s));
        CHECK(exceeds_progress_deadline(observed, start + due) == c.exceeded);
        CHECK(next_progress_look(observed, start + due) == std::nullopt);
        CHECK(text(decide(observed, start + due)) ==
              (c.exceeded ? "finish Failed/ProgressDeadlineExceeded" : "run: leave"));
    }
    // The TrainJob was read after the JobSet of the attempt before, or after that had gone.
    Observed mixed = with_lease(reporting("Fail"), due);
    mixed.job_set->is_attempt = true;
    mixed.job->restarts = {.all = 1};
    mixed.job->attempt.failures = 1;
    CHECK_FALSE(exceeds_progress_deadline(mixed, start + due));
    mixed.job_set.reset();
    CHECK_FALSE(exceeds_progress_deadline(mixed, start + due));
    // Without a JobSet, what the cache knows of it decides whether a report may be the first.
    mixed.job->attempt.began = start + 101s;
    CHECK_FALSE(last_progress(mixed));
    mixed.job->attempt.began = start + 100s;
    CHECK(last_progress(mixed) == start + 100s);
    // JobSets that JobSet itself restarts have one clock.
    Observed of_template = with_lease(reporting("Fail"), due);
    of_template.job->restarts = of_template.job_set->restarts = {.all = 2};
    CHECK(exceeds_progress_deadline(of_template, start + due));
}

TEST_CASE("what was reported before Kueue held the JobSet back does not count", "[progress]") {
    Observed queued = with_lease(reporting("Fail"), due);
    queued.job_set->queue = "gpus";
    queued.job_set->written_suspend = false;
    queued.job_set->all_started = true;
    queued.job->attempt.began = start + 10s;
    CHECK(exceeds_progress_deadline(queued, start + due));
    // In the queue again: the TrainJob is not suspended.
    queued.job_set->suspend = true;
    CHECK_FALSE(conclude_after(queued, due).attempt.began);
    queued.job->attempt.began.reset();
    CHECK_FALSE(exceeds_progress_deadline(queued, start + due));
    CHECK_FALSE(progress_stall(queued, start + due));
    // Admitted again.
    queued.job_set->suspend = false;
    CHECK_FALSE(exceeds_progress_deadline(queued, start + due));
    CHECK(conclude_after(queued, due).attempt.began == start + due);
    queued.job->attempt.began = start + due - 1s;
    CHECK_FALSE(exceeds_progress_deadline(queued, start + due));
    queued.job->trainer_status.last_progress = start + due;
    CHECK(last_progress(queued) == start + due);
}

namespace {

// All its Pods started ten seconds after its creation; it has reported nothing, and has half an hour.
Observed starting(const char* action = "Warn") {
    Observed observed = running();
    observed.job->progress_annotations = {{}, action, "1800"};
    observed.job->attempt.began = start + 10s;
    observed.progress_watch = ProgressWatch::deadlines;
    observed.is_live = true;
    observed.job_set->all_started = true;
    return observed;
}

constexpr auto start_due = 10s + 1800s + 60s;

}  // namespace

TEST_CASE("a start deadline counts from the start of all Pods until the first report", "[progress]") {
    const Case cases[] = {
        {"it has not passed", [](auto&) {}, start_due - 1s, false, 1s},
        {"it has passed", [](auto&) {}, start_due, true, std::nullopt},
        {"a report ends it", [](auto& o) { o.job->trainer_status.last_progress = start + 5s; }, 24h, false,
         std::nullopt},
        {"a report of before the last start does not",
         [](auto& o) {
             o.job->conditions.push_back(condition("Suspended", "False", "Resumed", start + 7s));
             o.job->trainer_status.last_progress = start + 6s;
         },
         start_due, true, std::nullopt},
        {"then the progress deadline counts",
         [](auto& o) {
             o.job->progress_annotations.seconds = "100";
             o.job->trainer_status.last_progress = start + 20s;
         },
         180s, true, std::nullopt},
        {"until then it does not", [](auto& o) { o.job->progress_annotations.seconds = "100"; },
         start_due - 1s, false, 1s},
        {"none while not all Pods have started", [](auto& o) { o.job->attempt.began.reset(); }, 24h, false,
         std::nullopt},
        {"none by the start of an earlier JobSet", [](auto& o) { o.job_set->meta.creation = start + 11s; },
         24h, false, std::nullopt},
        {"none by the start before a suspension",
         [](auto& o) {
             o.job->conditions.push_back(condition("Suspended", "False", "Resumed", start + 11s));
         },
         24h, false, std::nullopt},
        {"none without a JobSet", [](auto& o) { o.job_set.reset(); }, 24h, false, std::nullopt},
        {"none while its JobSet is suspended", [](auto& o) { o.job_set->suspend = true; }, 24h, false,
         std::nullopt},
        {"none while its JobSet is being deleted", [](auto& o) { o.job_set->meta.deletion = start + 20s; },
         24h, false, std::nullopt},
        {"none of a JobSet that has finished",
         [](auto& o) { o.job_set->finished = condition("Completed", "True", "AllJobsCompleted"); }, 24h,
         false, std::nullopt},
        {"none while it is suspended", [](auto& o) { o.job->suspend = true; }, 24h, false, std::nullopt},
        {"none between two attempts",
         [](auto& o) { o.job->conditions.push_back(condition("Restarting", "True", "BackingOff")); }, 24h,
         false, std::nullopt},
        {"none by a JobSet of the attempt before",
         [](auto& o) {
             o.job_set->is_attempt = true;
             o.job->restarts.all = 1;
         },
         24h, false, std::nullopt},
        {"none after the end", [](auto& o) { o.job->conditions.push_back(condition("Failed", "True", "X")); },
         24h, false, std::nullopt},
        {"none of another controller's", [](auto& o) { o.job->managed_by = "kueue.x-k8s.io/multikueue"; },
         24h, false, std::nullopt},
        {"none without its gate", [](auto& o) { o.progress_watch = ProgressWatch::reports; }, 24h, false,
         std::nullopt},
        {"none with an error of the other deadline",
         [](auto& o) { o.job->progress_annotations.seconds = "1"; }, 24h, false, std::nullopt},
    };
    for (const Case& c : cases) check(c, starting());
}

TEST_CASE("an outage of the server of reports gives a job that starts its whole period again", "[progress]") {
    Observed observed = starting("Fail");
    observed.availability = available(500s, start_due);
    CHECK(wants_availability(observed, start + start_due));
    CHECK_FALSE(exceeds_progress_deadline(observed, start + start_due));
    CHECK(next_progress_look(observed, start + start_due) == 490s);
    observed.availability = available(0s, start_due - 61s);
    CHECK_FALSE(exceeds_progress_deadline(observed, start + start_due));
    CHECK(next_progress_look(observed, start + start_due) == 30s);
}

TEST_CASE("a job that does not report is stalled, or fails, with words of its own", "[progress]") {
    Story story{.observed = starting()};
    look(story, start_due);
    CHECK(story.says() == "Created=True/JobsCreationSucceeded Stalled=True/ProgressDeadlineExceeded");
    CHECK(story.message("Stalled") == "no report for 31m since all Pods had started (limit 30m)");
    story.observed.job->trainer_status.last_progress = start + start_due + 5s;
    look(story, start_due + 10s);
    CHECK(story.says() == "Created=True/JobsCreationSucceeded");
    CHECK(story.reported == "1870 ProgressDeadlineExceeded, 1880 ProgressResumed");

    Story failing{.observed = starting("Fail")};
    look(failing, start_due);
    CHECK(failing.says() == "Failed=True/ProgressDeadlineExceeded");
    CHECK(failing.message("Failed") == "no report for 31m since all Pods had started (limit 30m)");
}

TEST_CASE("the start of all Pods is stored for a start deadline, and again after a restart or a resume",
          "[progress]") {
    Observed observed = starting();
    observed.job->attempt.began.reset();
    const auto began = [&](std::chrono::seconds elapsed) {
        const Conclusion conclusion = conclude_after(with_lease(observed, elapsed), elapsed);
        observed.job->attempt = conclusion.attempt;
        observed.job->restarts = conclusion.restarts;
        return conclusion.attempt.began;
    };
    CHECK(began(20s) == start + 20s);
    CHECK(began(30s) == start + 20s);
    // A Pod that is not ready any more still runs.
    observed.job_set->all_started = false;
    CHECK(began(40s) == start + 20s);
    // JobSet starts it again: these counts are those of before.
    const auto counts = observed.job_set->replicated_jobs;
    observed.job_set->all_started = true;
    observed.job_set->replicated_jobs = {{.name = "node", .failed = 1}};
    observed.job_set->restarts.all = 1;
    CHECK_FALSE(began(50s));
    CHECK_FALSE(began(51s));
    observed.job_set->replicated_jobs = counts;
    observed.job_set->all_started = false;
    CHECK_FALSE(began(55s));
    observed.job_set->all_started = true;
    CHECK(began(60s) == start + 60s);
    // Another JobSet of the name.
    observed.job_set->meta.creation = start + 70s;
    observed.job_set->all_started = false;
    CHECK(began(75s) == start + 60s);
    CHECK_FALSE(all_started_since(observed));
    observed.job_set->all_started = true;
    CHECK(began(80s) == start + 80s);
    observed.job_set->suspend = true;
    CHECK_FALSE(began(90s));
    observed.job_set->suspend = false;
    CHECK(began(100s) == start + 100s);
    observed.job->progress_annotations = {"60", "Warn", {}};
    CHECK_FALSE(began(110s));
}

TEST_CASE("a clock that is wrong stores no start of all Pods", "[progress]") {
    Observed observed = starting();
    observed.job->attempt.began.reset();
    observed.clock_is_uncertain = true;
    const Conclusion waits = conclude_after(observed, 20s);
    CHECK_FALSE(waits.attempt.began);
    CHECK(waits.requeue_after == 10s);
    observed.clock_is_uncertain = false;
    CHECK(conclude_after(observed, 30s).attempt.began == start + 30s);
    // It may be behind the one that has dated the JobSet.
    observed.job_set->meta.creation = start + 31s;
    CHECK(conclude_after(observed, 30s).attempt.began == start + 31s);
}

TEST_CASE("an interruption of the server of reports ends no job", "[progress]") {
    struct Case {
        const char* name;
        std::optional<Availability> availability;
        bool exceeded;
        std::optional<std::chrono::seconds> next;
    };
    const Case cases[] = {
        {"not read", std::nullopt, false, std::nullopt},
        {"no Lease", Availability(), false, 30s},
        {"no time of its beginning", Availability{.renewed = start + due}, false, 30s},
        {"renewed a minute ago", available(0s, due - 60s), true, std::nullopt},
        {"renewed longer ago", available(0s, due - 61s), false, 30s},
        {"renewed by a clock a minute ahead", available(0s, due + 60s), true, std::nullopt},
        {"renewed by a clock further ahead: nothing says when", available(0s, due + 61s), false, 30s},
        {"available since a minute ahead: another clock's", available(due + 60s, due), false, 1920s},
        {"available since a time further ahead: nothing says when", available(due + 61s, due), false, 30s},
        {"available again since then: a whole period", available(due - 10s, due), false, 1850s},
        {"available for a whole period", available(100s, due), true, std::nullopt},
        {"available for a second less", available(101s, due), false, 1s},
    };
    for (const Case& c : cases) {
        CAPTURE(c.name);
        Observed observed = reporting("Fail");
        observed.availability = c.availability;
        CHECK(wants_availability(observed, start + due));
        CHECK(exceeds_progress_deadline(observed, start + due) == c.exceeded);
        CHECK(next_progress_look(observed, start + due) == c.next);
        CHECK(text(decide(observed, start + due)) ==
              (c.exceeded ? "finish Failed/ProgressDeadlineExceeded" : "run: leave"));
    }
}

TEST_CASE("a Lease that is more than a minute ahead of this clock is reported", "[progress]") {
    const auto reported = [](std::optional<Availability> availability) {
        Observed observed = reporting("Fail");
        observed.availability = availability;
        return measurements(observed, Run{}, {}, {}, false, start + due).lease_is_ahead;
    };
    CHECK(reported(std::nullopt) == std::nullopt);
    CHECK(reported(Availability()) == false);
    CHECK(reported(available(due - 24h, due - 1h)) == false);
    CHECK(reported(available(due + 60s, due + 60s)) == false);
    CHECK(reported(available(due + 61s, due)) == true);
    CHECK(reported(available(0s, due + 61s)) == true);
    CHECK(reported(Availability{.renewed = start + due + 61s}) == true);
}

TEST_CASE("the Lease is read only for a verdict", "[progress]") {
    CHECK_FALSE(wants_availability(reporting(), start + due - 1s));
    CHECK(wants_availability(reporting(), start + due));
    Observed stalled = reporting();
    stalled.job->conditions.push_back(condition("Stalled", "True", "ProgressDeadlineExceeded", start + due));
    CHECK_FALSE(wants_availability(stalled, start + due + 1h));
    for (const char* action : {"Fail", "Restart"}) {
        stalled.job->progress_annotations.action = action;
        CHECK(wants_availability(stalled, start + due + 1h));
    }
    CHECK_FALSE(wants_availability({}, start + due));
}

TEST_CASE("a TrainJob without progress is stalled, and said so once", "[progress]") {
    Story story{.observed = reporting()};
    const Conclusion before = look(story, due - 1s);
    CHECK(before.requeue_after == 1s);
    CHECK(before.requeues_for_progress);
    CHECK(story.says() == "Created=True/JobsCreationSucceeded");

    story.observed.job->trainer_status.last_updated = start + due - 10s;
    const Conclusion stalled = look(story, due);
    CHECK(story.says() == "Created=True/JobsCreationSucceeded Stalled=True/ProgressDeadlineExceeded");
    CHECK(story.message("Stalled") ==
          "no progress for 31m (limit 30m): 42 %, loss=1.93, current_step=8400; last report 10s ago");
    CHECK_FALSE(stalled.requeue_after);
    REQUIRE(stalled.events.size() == 1);
    CHECK(stalled.events.front().type == EventType::warning);
    CHECK(stalled.events.front().needs_status);
    CHECK(stalled.events.front().note == story.message("Stalled"));

    CHECK_FALSE(look(story, due + 3h).status_changed);
    // By another clock it may not be due any more.
    story.observed.clock_is_uncertain = true;
    CHECK(look(story, due + 3h).requeue_after == 10s);
    story.observed.clock_is_uncertain = false;
    story.observed.retry_state = {};
    story.observed.availability.reset();
    CHECK_FALSE(look(story, due + 4h).status_changed);
    CHECK(story.reported == "1960 ProgressDeadlineExceeded");
}

TEST_CASE("no verdict is passed on what the cache shows", "[progress]") {
    Observed cached = with_lease(reporting(), due);
    cached.is_live = false;
    const Conclusion conclusion = conclude_after(cached, due);
    CHECK_FALSE(conclusion.status_changed);
    CHECK(conclusion.requeue_after == 1s);
    CHECK(needs_live(decide(with_lease(reporting("Fail"), due), start + due), cached) == Live::all);
}

TEST_CASE("a TrainJob without progress fails if it asks for that", "[progress]") {
    Story story{.observed = reporting("Fail")};
    const Conclusion ended = look(story, due);
    CHECK(story.says() == "Failed=True/ProgressDeadlineExceeded");
    CHECK(story.message("Failed").starts_with("no progress for 31m (limit 30m): 42 %"));
    CHECK(story.reported == "1960 ProgressDeadlineExceeded");
    CHECK(ended.requeue_after == 1s);
    const Observed before = with_lease(reporting("Fail"), due);
    CHECK(measurements(before, decide(before, start + due), {}, ended, true, start + due).end ==
          End::progress_deadline);
    look(story, due + 1s);
    CHECK(text(decide(story.observed, start + due + 1s)) == "clean up: suspend JobSet");
}

TEST_CASE("an active deadline that has passed, and a finished JobSet, come before a progress deadline",
          "[progress]") {
    Observed observed = with_lease(with_deadline(reporting("Fail"), 60s), due);
    CHECK(text(decide(observed, start + due)) == "finish Failed/DeadlineExceeded");
    observed.job_set->finished = condition("Completed", "True", "AllJobsCompleted");
    CHECK(text(decide(observed, start + due)) == "finish Complete/AllJobsCompleted");
}

TEST_CASE("a stall by missing progress ends with progress, a suspension, its limit and the job",
          "[progress]") {
    struct Case {
        const char* name;
        void (*ends)(Observed&);
        const char* says;
        const char* reported;
    };
    const Case cases[] = {
        {"progress",
         [](Observed& o) {
             o.job->trainer_status.last_progress = start + due + 5s;
             o.job->trainer_status.percentage = 43;
         },
         "Created=True/JobsCreationSucceeded", "1970 ProgressResumed"},
        {"progress that was on its way",
         [](Observed& o) { o.job->trainer_status.last_progress = start + due - 60s; },
         "Created=True/JobsCreationSucceeded", "1970 ProgressResumed"},
        {"a higher limit", [](Observed& o) { o.job->progress_annotations.seconds = "86400"; },
         "Created=True/JobsCreationSucceeded", ""},
        {"no limit", [](Observed& o) { o.job->progress_annotations = {}; },
         "Created=True/JobsCreationSucceeded", ""},
        {"no gate", [](Observed& o) { o.progress_watch = ProgressWatch::off; },
         "Created=True/JobsCreationSucceeded", ""},
        {"a suspension", [](Observed& o) { o.job->suspend = o.job_set->suspend = true; },
         "Created=True/JobsCreationSucceeded Suspended=True/Suspended", "1970 Suspended"},
        {"the end",
         [](Observed& o) { o.job_set->finished = condition("Failed", "True", "FailedJobs", start + due); },
         "Failed=True/FailedJobs", "1970 FailedJobs"},
    };
    for (const Case& c : cases) {
        CAPTURE(c.name);
        Story story{.observed = reporting()};
        look(story, due);
        REQUIRE(is_stalled_by_progress(*story.observed.job));
        story.reported.clear();
        c.ends(story.observed);
        look(story, due + 10s);
        if (story.observed.job->suspend) look(story, due + 11s);
        CHECK(story.says() == c.says);
        CHECK(story.reported == c.reported);
    }
}

TEST_CASE("of several causes of a stall the first gives the reason", "[progress]") {
    Story story{.observed = reporting()};
    look(story, due);
    // Its JobSet begins anew, and gets no Pods.
    story.observed.job_set->lacks_pods = "node";
    look(story, due + 10s);
    CHECK(story.says().ends_with("Stalled=True/ProgressDeadlineExceeded"));
    look(story, due + 10min);
    CHECK(story.says().ends_with("Stalled=True/ProgressDeadlineExceeded"));
    story.now = start + due + 10s + 10min;
    story.reconcile({.explanation = ""});
    CHECK(story.says().ends_with("Stalled=True/PodsNotCreated"));
    story.observed.job_set->lacks_pods.clear();
    look(story, due + 22min);
    CHECK(story.says().ends_with("Stalled=True/ProgressDeadlineExceeded"));
}

TEST_CASE("a failed status write keeps the time of the next look", "[progress]") {
    const Observed observed = with_lease(reporting(), due - 20s);
    const Conclusion conclusion = conclude_after(observed, due - 20s);
    const Conclusion failed =
        after_failed_status_write(conclusion, observed, lost_connection, start + due - 20s);
    CHECK(failed.requeue_after == 1s);  // the retry
    CHECK_FALSE(failed.requeues_for_progress);
}

TEST_CASE("a Lease that cannot be read is retried, and reported once that lasts", "[progress]") {
    Story story{.observed = reporting()};
    const Outcome unread = {.availability_unread =
                                ReadFailed{"Lease kubeflow-system/signalbox-progress", lost_connection}};
    story.now = start + due;
    story.next = story.now;
    story.until(due + 20s, unread);
    CHECK(story.says() == "Created=True/JobsCreationSucceeded");
    CHECK(story.reported.ends_with(" ReconcileError"));
    CHECK(story.reported.find(',') == std::string::npos);
}

TEST_CASE("a progress deadline with errors counts as none, and is reported once", "[progress]") {
    Story story{.observed = reporting()};
    story.observed.job->progress_annotations.seconds = "30m";
    const Conclusion conclusion = look(story, 24h);
    REQUIRE(conclusion.events.size() == 1);
    CHECK(conclusion.events.front().type == EventType::warning);
    CHECK(conclusion.events.front().note ==
          "metadata.annotations[trainer.kubeflow.org/progress-deadline-seconds]: Invalid value: \"30m\": "
          "must be a "
          "number of seconds from 60 to 2147483647");
    look(story, 25h);
    CHECK(story.reported == "86400 ProgressDeadlineInvalid");
    CHECK(story.says() == "Created=True/JobsCreationSucceeded");
    story.observed.job->progress_annotations.seconds = "2147483647";
    look(story, 25h);
    story.observed.job->progress_annotations.seconds = "x";
    look(story, 26h);
    CHECK(story.reported == "86400 ProgressDeadlineInvalid, 93600 ProgressDeadlineInvalid");
}

TEST_CASE("what training code reports is shown without control characters, and not whole", "[progress]") {
    Observed observed = with_lease(reporting(), due);
    observed.job->trainer_status.percentage.reset();
    observed.job->trainer_status.last_updated = start + due + 1h;
    observed.job->trainer_status.metrics = {{"a\x1b[31m\nb\xC2\x9B", std::string(100, 'x')}};
    CHECK(overdue_text(observed, start + due) ==
          "no progress for 31m (limit 30m): a?[31m?b?=" + std::string(64, 'x') + "; last report 0s ago");
    observed.job->trainer_status = {.last_progress = start + 100s};
    CHECK(overdue_text(observed, start + due) == "no progress for 31m (limit 30m)");
}

TEST_CASE("durations have two units at most", "[progress]") {
    Observed observed = with_lease(reporting(), due);
    const auto limit = [&](const char* seconds) {
        observed.job->progress_annotations.seconds = seconds;
        const std::string text = overdue_text(observed, start + due);
        const auto begin = text.find("limit ") + 6;
        return text.substr(begin, text.find(')') - begin);
    };
    CHECK(limit("60") == "1m");
    CHECK(limit("65") == "1m5s");
    CHECK(limit("10800") == "3h");
    CHECK(limit("10859") == "3h");
    CHECK(limit("185400") == "2d3h");
}

}  // namespace lifecycle
