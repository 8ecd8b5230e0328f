// Attempts: what is decided and stored from the failure of one to the start of the next.
#include "lifecycle/judge.hpp"
#include "lifecycle/restarts.hpp"
#include "story.hpp"

namespace lifecycle {
namespace {

struct Case {
    const char* name;
    Observed (*from)();
    void (*change)(Observed&);
    const char* want;
    std::chrono::seconds after = 65s;
};

void check(const Case& c) {
    DYNAMIC_SECTION(c.name) {
        Observed observed = c.from();
        c.change(observed);
        CHECK(text(decide(observed, start + c.after)) == c.want);
    }
}

void nothing(Observed&) {}
Observed failed() { return failed_attempt(); }
Observed of_template() {
    Observed observed = failed_attempt();
    observed.job_set->is_attempt = false;
    return observed;
}
Observed suspended_meanwhile() {
    Observed observed = judged_attempt();
    observed.job->suspend = true;
    observed.job->conditions.push_back(condition("Suspended", "True", "Suspended", start + 62s));
    return observed;
}
Observed gone() {
    Observed observed = judged_attempt();
    observed.job_set.reset();
    return observed;
}

Judgement restarting(std::chrono::seconds delay = 10s, bool counts = true) {
    return {.decision = counts ? api::FailureDecision::restart : api::FailureDecision::restart_uncounted,
            .delay = delay,
            .failures = 2,
            .uncounted_failures = counts ? 0 : 3};
}

Outcome judged(api::Failure failure = {.time = start + 50s,
                                       .pod = "job-node-0-1",
                                       .node = "gpu-1",
                                       .exit_code = 3,
                                       .reason = "Error",
                                       .failed_pods = 1}) {
    Outcome outcome;
    outcome.failure = std::move(failure);
    outcome.max_restarts = 3;
    return outcome;
}

Conclusion restart(const Observed& observed, const Judgement& judgement = restarting(),
                   const Outcome& outcome = judged()) {
    return conclude(observed, Restart{judgement}, outcome, start + 61s);
}

Observed stored(Observed observed, const Conclusion& conclusion) {
    observed.job->conditions = conclusion.conditions;
    observed.job->jobs_status = conclusion.jobs_status;
    observed.job->restarts = conclusion.restarts;
    observed.job->failures = conclusion.failures;
    observed.job->attempt = conclusion.attempt;
    observed.job->start_time = conclusion.start_time;
    observed.job->completion_time = conclusion.completion_time;
    return observed;
}

// The JobSet of the next attempt.
Observed next_attempt(std::vector<api::JobStatus> counts) {
    Observed observed = judged_attempt();
    Observed next = attempt(1);
    next.job = observed.job;
    next.job_set->replicated_jobs = std::move(counts);
    return next;
}

}  // namespace

TEST_CASE("an attempt that fails is judged, and the next one follows", "[attempts]") {
    const Case cases[] = {
        {"an attempt runs", [] { return attempt(); }, nothing, "run: leave"},
        {"it has failed", failed, nothing, "finish Failed/ReachedMaxRestarts, judges"},
        {"the third one", [] { return failed_attempt(2); }, nothing,
         "finish Failed/ReachedMaxRestarts, judges"},
        {"the number of restarts was forged down", [] { return failed_attempt(2); },
         [](Observed& o) { o.job->restarts = {}; }, "finish Failed/ReachedMaxRestarts, judges"},
        {"it has completed", failed,
         [](Observed& o) { o.job_set->finished = condition("Completed", "True", "AllJobsCompleted"); },
         "finish Complete/AllJobsCompleted"},
        {"the template has a failure policy of its own", of_template, nothing,
         "finish Failed/ReachedMaxRestarts"},
        {"the job is suspended in that moment", failed, [](Observed& o) { o.job->suspend = true; },
         "finish Failed/ReachedMaxRestarts, judges"},
        {"the job is being deleted", failed, [](Observed& o) { o.job->meta.deletion = start; },
         "finish Failed/ReachedMaxRestarts"},
        {"its JobSet is being deleted", failed, [](Observed& o) { o.job_set->meta.deletion = start; },
         "finish Failed/ReachedMaxRestarts, judges"},
        {"before its time, the next one waits", judged_attempt, nothing, "run: back off, no build", 69s},
        {"in time, the JobSet goes", judged_attempt, nothing, "run: retire, no build", 70s},
        {"without a time, too", judged_attempt, [](Observed& o) { o.job->attempt.next.reset(); },
         "run: retire, no build"},
        {"it ends", judged_attempt, [](Observed& o) { o.job_set->meta.deletion = start + 70s; },
         "run: wait until gone", 71s},
        {"it is gone", gone, nothing, "run: create", 72s},
        {"a JobSet of another owner came first", judged_attempt, make_foreign, "run: refuse, no build", 72s},
        {"the clock is uncertain", judged_attempt, [](Observed& o) { o.clock_is_uncertain = true; },
         "run: retire, no build", 70s},
        {"a change of its size needs no other way", judged_attempt,
         [](Observed& o) { o.job_set->built_for_nodes = 7; }, "run: retire, no build", 70s},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("suspension, deadline, end and deletion of the TrainJob win over its next attempt", "[attempts]") {
    const Case cases[] = {
        {"a suspension is stored first", judged_attempt, [](Observed& o) { o.job->suspend = true; },
         "store transition", 90s},
        {"and keeps the JobSet", suspended_meanwhile, nothing, "run: back off, no build", 90s},
        {"a resumption is stored first", suspended_meanwhile, [](Observed& o) { o.job->suspend = false; },
         "store transition", 90s},
        {"and leads to the attempt", suspended_meanwhile,
         [](Observed& o) {
             o.job->suspend = false;
             o.job->conditions.back() = condition("Suspended", "False", "Resumed", start + 80s);
         },
         "run: retire, no build", 90s},
        {"a suspended one begins suspended", gone,
         [](Observed& o) {
             o.job->suspend = true;
             o.job->conditions.push_back(condition("Suspended", "True", "Suspended", start + 62s));
         },
         "run: create", 90s},
        {"the deadline passes in the back-off", judged_attempt,
         [](Observed& o) { o.job->active_deadline_seconds = 65; }, "finish Failed/DeadlineExceeded"},
        {"not while it is suspended", suspended_meanwhile,
         [](Observed& o) { o.job->active_deadline_seconds = 65; }, "run: back off, no build"},
        {"the job is being deleted", judged_attempt, [](Observed& o) { o.job->meta.deletion = start + 61s; },
         "run: leave, no build", 90s},
        {"the job has ended", judged_attempt,
         [](Observed& o) { o.job->conditions.push_back(condition("Failed", "True", "Any")); }, "clean up",
         90s},
        {"another controller manages it", judged_attempt,
         [](Observed& o) { o.job->managed_by = "kueue.x-k8s.io/multikueue"; }, "ignore", 90s},
        {"another controller manages it, and it has failed", failed,
         [](Observed& o) { o.job->managed_by = "kueue.x-k8s.io/multikueue"; }, "ignore"},
        {"another owner has the JobSet", failed, make_foreign, "run: refuse, no build"},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("what cannot be undone about an attempt is decided on a live view", "[attempts]") {
    const auto needs = [](const Observed& observed, std::chrono::seconds after) {
        return needs_live(decide(observed, start + after), observed);
    };
    CHECK(needs(failed_attempt(), 65s) == Live::all);
    CHECK(needs(of_template(), 65s) == Live::nothing);
    CHECK(needs(judged_attempt(), 65s) == Live::nothing);
    CHECK(needs(judged_attempt(), 70s) == Live::all);
    CHECK(needs(gone(), 72s) == Live::all);
    CHECK(needs_live(Restart{}, failed_attempt()) == Live::nothing);
    // An old view, in which the attempt that was judged still runs, takes nothing back.
    Observed old = judged_attempt();
    old.job_set->finished.reset();
    CHECK(needs(old, 65s) == Live::all);
    CHECK(look_for(decide(judged_attempt(), start + 70s)) == LookFor::decision);
}

TEST_CASE("a restart is one write of the status", "[attempts]") {
    Observed observed = failed_attempt(1);
    observed.job->attempt = {.began = start + 10s, .failures = 1, .uncounted_failures = 2};
    observed.job->conditions.push_back(condition("Stalled", "True", "WaitingForPods", start + 20s));
    const Conclusion conclusion = restart(observed);
    CHECK(conclusion.status_changed);
    CHECK(conclusion.restarts == api::Restarts{.all = 2, .counted = 2});
    CHECK(conclusion.attempt == api::Attempt{.next = start + 71s, .failures = 2, .uncounted_failures = 0});
    CHECK(text(conclusion.conditions) == "Created=True/JobsCreationSucceeded Restarting=True/BackingOff");
    CHECK(get(conclusion, "Restarting").message ==
          "attempt 2 begins at 2026-01-15T10:01:11Z. The first to fail: Pod job-node-0-1 on node gpu-1: exit "
          "code 3");
    CHECK(get(conclusion, "Restarting").last_transition == start + 61s);
    REQUIRE(conclusion.failures.size() == 1);
    CHECK(conclusion.failures[0].attempt == 1);
    CHECK(text(conclusion.jobs_status) == "node: 1 failed");
    CHECK(text(conclusion.events) == "Warning TrainJobRestarted");
    CHECK(conclusion.events[0].note ==
          "restart 2, 2 of 3 counted: Pod job-node-0-1 on node gpu-1: exit code 3");
    CHECK(conclusion.events[0].needs_status);
    CHECK(conclusion.requeue_after == 10s);
    CHECK_FALSE(conclusion.decide_again);
    CHECK_FALSE(conclusion.completion_time);

    const api::Json patch = status_patch(*observed.job, conclusion)["status"];
    CHECK(patch["nextAttemptTime"] == api::Json("2026-01-15T10:01:11Z"));
    CHECK(patch["attemptStartTime"].is_null());
    CHECK(patch.contains("attemptStartTime"));
    CHECK(patch["consecutiveFailures"] == api::Json(2));
    CHECK(patch["consecutiveUncounted"] == api::Json(0));
    CHECK(patch["restarts"] == api::Json(2));
    CHECK(patch["restartsCountTowardsMax"] == api::Json(2));
    CHECK(patch["failures"].items().size() == 1);

    // After a crash, the status alone says what follows: nothing is counted twice.
    const Observed after = stored(observed, conclusion);
    CHECK(text(decide(after, start + 62s)) == "run: back off, no build");
    CHECK(restarts(after) == api::Restarts{.all = 2, .counted = 2});
    CHECK_FALSE(takes_back_restarts(after));
    CHECK(restarts_before(after) == api::Restarts{.all = 1, .counted = 1});
    Observed without = after;
    without.job_set.reset();
    CHECK(restarts_before(without) == api::Restarts{.all = 2, .counted = 2});
}

TEST_CASE("an attempt that fails before the status shows its JobSet is followed by one of the same runtime",
          "[attempts]") {
    Observed observed = failed_attempt();
    observed.job->conditions.clear();
    observed.job->jobs_status.clear();
    observed.job->runtime_digest.clear();
    SECTION("its creation was not stored") { observed.job->meta.generation = 2; }
    SECTION("it was about to be") {
        observed.job->conditions = {condition("Created", "Unknown", "JobsCreating")};
    }
    const Conclusion conclusion = restart(observed);
    CHECK(text(conclusion.conditions) == "Created=True/JobsCreationSucceeded Restarting=True/BackingOff");
    CHECK(text(conclusion.jobs_status) == "node: 1 failed");
    CHECK(conclusion.runtime_digest == "sha256:0");
    Observed after = stored(observed, conclusion);
    after.job_set.reset();
    CHECK(std::get<Run>(decide(after, start + 80s)).runtime == RuntimeSource::snapshot);
}

TEST_CASE("a restart that does not count leaves the number that does", "[attempts]") {
    const Conclusion conclusion = restart(failed_attempt(1), restarting(20s, false), judged({.time = start}));
    CHECK(conclusion.restarts == api::Restarts{.all = 2, .counted = 1});
    CHECK(conclusion.attempt.uncounted_failures == 3);
    CHECK(conclusion.requeue_after == 20s);
    CHECK(conclusion.events.at(0).note == "restart 2, 1 of 3 counted: no failed Pod is left");
    CHECK(get(conclusion, "Restarting").message ==
          "attempt 2 begins at 2026-01-15T10:01:21Z. The first to fail: no failed Pod is left");
}

TEST_CASE("without a back-off the next attempt follows at once", "[attempts]") {
    const Conclusion conclusion = restart(failed_attempt(), restarting(0s));
    CHECK(conclusion.attempt.next == start + 61s);
    CHECK(conclusion.requeue_after == 1s);
    CHECK(text(decide(stored(failed_attempt(), conclusion), start + 61s)) == "run: retire, no build");
}

TEST_CASE("a suspension that meets a failure is stored with it", "[attempts]") {
    Observed observed = failed_attempt();
    observed.job->suspend = true;
    const Conclusion conclusion = restart(observed);
    CHECK(text(conclusion.conditions) ==
          "Created=True/JobsCreationSucceeded Restarting=True/BackingOff Suspended=True/Suspended");
    const Observed after = stored(observed, conclusion);
    CHECK(text(decide(after, start + 1h)) == "run: back off, no build");
    CHECK_FALSE(conclude_after(after, 1h).requeue_after);
    CHECK_FALSE(conclude_after(after, 1h).status_changed);
}

TEST_CASE("a restart that is not stored is neither reported nor counted", "[attempts]") {
    const Observed observed = failed_attempt();
    const Conclusion failed = after_failed_status_write(
        restart(observed), observed, server_error(409, "changed", api::Errc::conflict), start + 61s);
    CHECK(failed.events.empty());
    CHECK(text(decide(observed, start + 62s)) == "finish Failed/ReachedMaxRestarts, judges");
}

TEST_CASE("the status keeps the newest failures", "[attempts]") {
    Observed observed = failed_attempt(7);
    for (int i = 6; i >= 2; --i) observed.job->failures.push_back({.attempt = i, .time = start, .pod = "p"});
    const auto failures = restart(observed).failures;
    REQUIRE(failures.size() == 5);
    CHECK(failures.front().attempt == 7);
    CHECK(failures.back().attempt == 3);
}

TEST_CASE("the back-off is waited for, and nothing is written meanwhile", "[attempts]") {
    const Observed observed = judged_attempt();
    Conclusion conclusion = conclude_after(observed, 63s);
    CHECK(conclusion.requeue_after == 7s);
    CHECK_FALSE(conclusion.status_changed);
    CHECK(conclusion.events.empty());
    CHECK(text(conclusion.jobs_status) == "node: 1 failed");
    // A deadline is sooner.
    CHECK(conclude_after(with_deadline(observed, 65s), 63s).requeue_after == 2s);
    // The JobSet is deleted: its watch tells the rest.
    conclusion = conclude_after(observed, 70s);
    CHECK_FALSE(conclusion.requeue_after);
    CHECK_FALSE(conclusion.status_changed);
    // It cannot be.
    conclusion = conclude_after(observed, 70s, refused(lost_connection, Write::remove));
    CHECK(conclusion.retry_state.failures == 1);
    CHECK(conclusion.requeue_after);
    CHECK_FALSE(conclusion.status_changed);
}

TEST_CASE("the next attempt is no loss of work, and keeps its restarts", "[attempts]") {
    const Decision decision = decide(gone(), start + 72s);
    CHECK_FALSE(std::get<Run>(decision).rebuilds);
    Outcome outcome;
    outcome.job_set_written = true;
    const Conclusion conclusion = conclude_after(gone(), 72s, outcome);
    CHECK(conclusion.events.empty());
    CHECK(conclusion.restarts == api::Restarts{.all = 1, .counted = 1});
    CHECK(conclusion.attempt == judged_attempt().job->attempt);
    CHECK(get(conclusion, "Restarting").is_true());
}

TEST_CASE("an attempt has begun once all its Pods have started", "[attempts]") {
    struct Row {
        const char* name;
        std::vector<api::JobStatus> counts;
        bool all_started;
        bool suspend;
        bool restarting;  // still
        bool began;
    };
    const Row rows[] = {
        {"no Pod yet", {}, false, false, true, false},
        {"its JobSet waits in a queue", {{.name = "node", .suspended = 1}}, false, true, true, false},
        {"some Pods are active", {{.name = "node", .active = 1}}, false, false, false, false},
        {"all Pods are ready", {{.name = "node", .ready = 1, .active = 1}}, true, false, false, true},
        {"all Pods have ended", {{.name = "node", .succeeded = 1}}, true, false, false, true},
        {"suspended while they run", {{.name = "node", .ready = 1, .active = 1}}, true, true, true, false},
    };
    for (const Row& row : rows) DYNAMIC_SECTION(row.name) {
            Observed observed = next_attempt(row.counts);
            observed.job_set->all_started = row.all_started;
            observed.job_set->suspend = row.suspend;
            observed.job->suspend = row.suspend;
            if (row.suspend) observed.job->conditions.push_back(condition("Suspended", "True", "Suspended"));
            const Conclusion conclusion = conclude_after(observed, 80s);
            CHECK((api::find_condition(conclusion.conditions, "Restarting") != nullptr) == row.restarting);
            CHECK(conclusion.attempt.next.has_value() == row.restarting);
            CHECK(conclusion.attempt.began ==
                  (row.began ? std::optional<api::Time>(start + 80s) : std::nullopt));
            CHECK(conclusion.attempt.failures == 1);
            CHECK(conclusion.restarts == api::Restarts{.all = 1, .counted = 1});
        }
}

TEST_CASE("the time at which an attempt began stays, until its JobSet is suspended", "[attempts]") {
    Observed observed = attempt();
    observed.job_set->all_started = true;
    const Conclusion began = conclude_after(observed, 20s);
    CHECK(api::to_json(status_patch(*observed.job, began)) ==
          R"({"status":{"attemptStartTime":"2026-01-15T10:00:20Z"}})");
    observed = stored(observed, began);
    observed.job_set->all_started = false;
    CHECK(conclude_after(observed, 30s).attempt.began == start + 20s);
    CHECK_FALSE(conclude_after(observed, 30s).status_changed);
    observed.job_set->suspend = observed.job->suspend = true;
    observed.job->conditions.push_back(condition("Suspended", "True", "Suspended"));
    CHECK_FALSE(conclude_after(observed, 40s).attempt.began);

    Observed of_template = running();
    of_template.job_set->all_started = true;
    CHECK_FALSE(conclude_after(of_template, 20s).attempt.began);
}

TEST_CASE("a job that ends is not restarting", "[attempts]") {
    Observed late = judged_attempt();
    late.job->active_deadline_seconds = 65;
    const Conclusion conclusion = conclude_after(late, 65s);
    CHECK(text(conclusion.conditions) == "Failed=True/DeadlineExceeded");
    CHECK_FALSE(conclusion.attempt.next);
    CHECK(conclusion.attempt.failures == 1);
    CHECK(status_patch(*late.job, conclusion)["status"].contains("nextAttemptTime"));

    Observed at_once = next_attempt({{.name = "node", .succeeded = 1}});
    at_once.job_set->finished = condition("Completed", "True", "AllJobsCompleted", start + 90s);
    const Conclusion done = conclude_after(at_once, 91s);
    CHECK(text(done.conditions) == "Complete=True/AllJobsCompleted");
    CHECK_FALSE(done.attempt.next);
}

TEST_CASE("restarts of an attempt are not read from its JobSet's policy", "[attempts]") {
    Observed observed = attempt(2);
    observed.job_set->max_restarts = 0;
    CHECK(counted_restarts(*observed.job_set) == "2 counted");
    observed.job->restarts = {.all = 1, .counted = 1};
    CHECK_FALSE(restart_event(observed, {.all = 2, .counted = 2}));
}

}  // namespace lifecycle
