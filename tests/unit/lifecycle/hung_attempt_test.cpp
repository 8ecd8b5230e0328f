// An attempt that hangs, from the verdict to the start of the next one.
#include "lifecycle/judge.hpp"
#include "lifecycle/measurements.hpp"
#include "lifecycle/progress_deadline.hpp"
#include "lifecycle/reconcile_machine.hpp"
#include "lifecycle/restarts.hpp"
#include "story.hpp"

namespace lifecycle {
namespace {

using Machine = ReconcileMachine;

// Its last progress was ten minutes after all its Pods had started; it has half an hour.
Observed hanging(std::int64_t restarts = 0, const char* action = "Restart") {
    Observed observed = attempt(restarts);
    observed.job->progress_annotations = {"1800", action};
    observed.job->attempt = {.began = start + 10s, .failures = 2, .uncounted_failures = 1};
    observed.job->trainer_status = {
        .last_progress = start + 610s, .last_updated = start + 610s, .percentage = 42};
    observed.job_set->all_started = true;
    observed.progress_watch = ProgressWatch::deadlines;
    observed.availability = {.since = start - 24h, .renewed = start + 610s + 1860s};
    observed.is_live = true;
    return observed;
}

const api::Time due = start + 610s + 1860s;
constexpr const char* text_of_hang = "no progress for 31m (limit 30m): 42 %; last report 31m ago";

api::FailurePolicy policy_with(std::int64_t max_restarts) { return {.max_restarts = max_restarts}; }

// Lets the machine look and act, as far as to the question for the policy.
void ask(Machine& machine, const Observed& live) {
    const auto look = machine.next(due);
    REQUIRE(look);
    REQUIRE(std::get<Machine::Look>(*look).what == Live::all);
    machine.looked(live, std::nullopt);
    const auto act = machine.next(due);
    REQUIRE(act);
    REQUIRE(text(std::get<Machine::Act>(*act).decision) ==
            "finish Failed/ProgressDeadlineExceeded, judges the hang");
    machine.acted({}, false);
    const auto asked = machine.next(due);
    REQUIRE(asked);
    // No Pod has failed.
    CHECK_FALSE(std::get<Machine::LookAtFailure>(*asked).pods);
    CHECK(std::get<Machine::LookAtFailure>(*asked).policy);
}

struct AHang {
    Observed observed;
    Machine machine{observed, std::nullopt, {}};

    explicit AHang(const Observed& hangs = hanging()) : observed(hangs) { ask(machine, hangs); }
    Conclusion status() {
        const auto action = machine.next(due);
        const auto* write = action ? std::get_if<Machine::WriteStatus>(&*action) : nullptr;
        REQUIRE(write);
        return write->conclusion;
    }
};

// The status has the judgement, and the JobSet is still there.
Observed judged() {
    Observed observed = hanging();
    observed.job->restarts = {.all = 1, .counted = 1};
    observed.job->attempt = {.next = due + 10s, .failures = 1};
    observed.job->failures = {{.time = due,
                               .reason = "ProgressDeadlineExceeded",
                               .message = text_of_hang,
                               .decision = api::FailureDecision::restart}};
    observed.job->conditions.push_back(condition("Restarting", "True", "BackingOff", due));
    return observed;
}

Observed gone() {
    Observed observed = judged();
    observed.job_set.reset();
    return observed;
}

void suspend(Observed& observed) {
    observed.job->suspend = true;
    observed.job->conditions.push_back(condition("Suspended", "True", "Suspended", due));
}

}  // namespace

TEST_CASE("an attempt that hangs is judged where another one may follow", "[attempts]") {
    struct Row {
        const char* name;
        void (*change)(Observed&);
        const char* want;
    };
    const Row rows[] = {
        {"it hangs", [](Observed&) {}, "finish Failed/ProgressDeadlineExceeded, judges the hang"},
        {"it is to fail", [](Observed& o) { o.job->progress_annotations.action = "Fail"; },
         "finish Failed/ProgressDeadlineExceeded"},
        {"it is to be reported", [](Observed& o) { o.job->progress_annotations.action = "Warn"; },
         "run: leave"},
        {"its JobSet is no attempt", [](Observed& o) { o.job_set->is_attempt = false; },
         "finish Failed/ProgressDeadlineExceeded"},
        {"the job is being deleted", [](Observed& o) { o.job->meta.deletion = due; },
         "finish Failed/ProgressDeadlineExceeded"},
        {"the job is to be suspended", [](Observed& o) { o.job->suspend = true; }, "store transition"},
        {"its JobSet is being deleted", [](Observed& o) { o.job_set->meta.deletion = due; },
         "run: wait until gone"},
        {"its JobSet is gone", [](Observed& o) { o.job_set.reset(); }, "run: create, rebuilds"},
        {"it has completed",
         [](Observed& o) { o.job_set->finished = condition("Completed", "True", "AllJobsCompleted"); },
         "finish Complete/AllJobsCompleted"},
        {"it has failed",
         [](Observed& o) { o.job_set->finished = condition("Failed", "True", "ReachedMaxRestarts"); },
         "finish Failed/ReachedMaxRestarts, judges"},
        {"its deadline has passed, too", [](Observed& o) { o.job->active_deadline_seconds = 60; },
         "finish Failed/DeadlineExceeded"},
        {"its number was forged", [](Observed& o) { o.job->restarts = {.all = 40}; }, "run: leave"},
        {"the clock is uncertain", [](Observed& o) { o.clock_is_uncertain = true; }, "run: leave"},
        {"the Lease is not known", [](Observed& o) { o.availability.reset(); }, "run: leave"},
        {"reports were not accepted", [](Observed& o) { o.availability->since = start + 611s; },
         "run: leave"},
        {"the Lease is old", [](Observed& o) { *o.availability->renewed -= 61s; }, "run: leave"},
        {"it has reported nothing",
         [](Observed& o) {
             o.job->progress_annotations = {{}, "Restart", "1800"};
             o.job->trainer_status = {};
         },
         "finish Failed/ProgressDeadlineExceeded, judges the hang"},
    };
    for (const Row& row : rows) DYNAMIC_SECTION(row.name) {
            Observed observed = hanging();
            row.change(observed);
            const Decision decision = decide(observed, due);
            CHECK(text(decision) == row.want);
            const auto* finish = std::get_if<Finish>(&decision);
            if (finish && !finish->from_job_set) CHECK(needs_live(decision, observed) == Live::all);
        }
}

TEST_CASE("a JobSet that Kueue suspends or runs by itself is not restarted", "[attempts]") {
    Observed observed = hanging();
    observed.job_set->queue = "gpus";
    observed.job_set->written_suspend = false;
    observed.job_set->suspend = true;
    CHECK(text(decide(observed, due)) == "run: leave");
    observed.job_set->suspend = false;
    observed.job_set->written_suspend = true;
    suspend(observed);
    observed.job->conditions.back().last_transition = start;
    CHECK(text(decide(observed, due)) == "run: leave");
    CHECK(progress_stall(observed, due));
}

TEST_CASE("a TrainJob that is deleted once its hang was judged does not let it run on", "[attempts]") {
    Observed observed = judged();
    observed.job->meta.deletion = due;
    REQUIRE(is_judged(observed));
    CHECK(std::get<Run>(decide(observed, due + 1s)).suspend_job_set);
    observed.job_set->suspend = true;
    CHECK_FALSE(std::get<Run>(decide(observed, due + 1s)).suspend_job_set);
}

TEST_CASE("a hang is stored as a failure without a Pod, which counts", "[attempts]") {
    AHang run;
    run.machine.found_failure(std::nullopt, policy_with(3));
    const Conclusion conclusion = run.status();
    CHECK(text(conclusion.conditions) == "Created=True/JobsCreationSucceeded Restarting=True/BackingOff");
    CHECK(get(conclusion, "Restarting").message ==
          "attempt 1 begins at 2026-01-15T10:41:20Z. The last attempt: " + std::string(text_of_hang));
    CHECK(conclusion.restarts == api::Restarts{.all = 1, .counted = 1});
    REQUIRE(conclusion.failures.size() == 1);
    CHECK(conclusion.failures[0] == api::Failure{.attempt = 0,
                                                 .time = due,
                                                 .reason = "ProgressDeadlineExceeded",
                                                 .message = text_of_hang,
                                                 .decision = api::FailureDecision::restart,
                                                 .rule = -1});
    // Its last progress was ten minutes after its start, so the row of failures is broken.
    CHECK(conclusion.attempt == api::Attempt{.next = due + 10s, .failures = 1});
    CHECK(text(conclusion.events) == "Warning TrainJobRestarted");
    CHECK(conclusion.events[0].note == "restart 1, 1 of 3 counted: " + std::string(text_of_hang));
    // It is left to run no longer than the write takes.
    CHECK(conclusion.requeue_after == 1s);
    run.machine.stored(std::nullopt);
    while (run.machine.next(due)) {
    }
    const Measurements& measured = run.machine.result().measurements;
    CHECK(measured.restarted == api::Restarts{.all = 1, .counted = 1});
    CHECK(measured.restart_cause == RestartCause::hang);
    CHECK(measured.attempt_end == AttemptEnd::restarted);
    CHECK(measured.attempt == due - (start + 10s));
    CHECK_FALSE(measured.end);
}

TEST_CASE("a hang without restarts that are left ends the job", "[attempts]") {
    AHang run{hanging(1)};
    run.machine.found_failure(std::nullopt, policy_with(1));
    const Conclusion conclusion = run.status();
    CHECK(text(conclusion.conditions) == "Failed=True/ReachedMaxRestarts");
    CHECK(get(conclusion, "Failed").message ==
          "the TrainJob has used the restarts of its failure policy: 1. The last attempt: " +
              std::string(text_of_hang));
    CHECK(get(conclusion, "Failed").last_transition == due);
    CHECK(conclusion.restarts == api::Restarts{.all = 1, .counted = 1});
    REQUIRE(conclusion.failures.size() == 1);
    CHECK(conclusion.failures[0].attempt == 1);
    CHECK(conclusion.failures[0].decision == api::FailureDecision::fail);
    CHECK(conclusion.requeue_after == 1s);
    run.machine.stored(std::nullopt);
    while (run.machine.next(due)) {
    }
    CHECK(run.machine.result().measurements.end == End::progress_deadline);
    CHECK(run.machine.result().measurements.attempt_end == AttemptEnd::failed);
}

TEST_CASE("without a policy that can be read a hang ends the job as Fail does", "[attempts]") {
    AHang run;
    run.machine.found_failure(std::nullopt, std::nullopt);
    const Conclusion conclusion = run.status();
    CHECK(text(conclusion.conditions) == "Failed=True/ProgressDeadlineExceeded");
    CHECK(get(conclusion, "Failed").message == text_of_hang);
    CHECK(conclusion.failures.empty());
}

TEST_CASE("a policy that cannot be read at the moment delays the verdict", "[attempts]") {
    AHang run;
    run.machine.failure_policy_unread(
        {"ConfigMap default/job-runtime-snapshot", server_error(503, "busy", api::Errc::unavailable)});
    const auto action = run.machine.next(due);
    REQUIRE(action);
    CHECK(std::holds_alternative<Machine::Report>(*action));
    CHECK_FALSE(run.machine.next(due));
    CHECK(run.machine.result().error->message == "busy");
    CHECK(run.machine.result().requeue_after);
}

TEST_CASE("the time in which an attempt hung does not count as one in which it lasted", "[judge]") {
    const api::Attempt attempt = {.began = start, .failures = 4, .uncounted_failures = 7};
    const auto after = [&](std::optional<api::Time> last_progress) {
        return judge_hang(policy_with(9), {}, attempt, last_progress);
    };
    for (const auto& last : {std::optional<api::Time>(), std::optional(start + 599s)}) {
        CHECK(after(last).failures == 5);
        CHECK(after(last).delay == 160s);
    }
    CHECK(after(start + 600s).failures == 1);
    CHECK(after(start + 600s).delay == 10s);
    CHECK(after({}).counts());
    CHECK(after({}).uncounted_failures == 0);
    CHECK_FALSE(after({}).excludes_node);
    const Judgement last = judge_hang(policy_with(9), {.all = 12, .counted = 9}, attempt, {});
    CHECK(last.reason == api::reason::reached_max_restarts);
    CHECK(hung_attempt(std::string(600, 'x'), start).message.size() == 512);
}

TEST_CASE("an attempt that hung goes at once, and the next one comes after the back-off", "[attempts]") {
    struct Row {
        const char* name;
        Observed (*from)();
        void (*change)(Observed&);
        std::chrono::seconds after;
        const char* want;
    };
    const auto nothing = [](Observed&) {};
    const Row rows[] = {
        {"it still runs", judged, nothing, 0s, "run: retire, no build"},
        {"its job was suspended meanwhile", judged, suspend, 1s, "run: suspend, retire, no build"},
        {"it has failed meanwhile", judged,
         [](Observed& o) { o.job_set->finished = condition("Failed", "True", "ReachedMaxRestarts", due); },
         9s, "run: back off, no build"},
        {"it has completed meanwhile", judged,
         [](Observed& o) { o.job_set->finished = condition("Completed", "True", "AllJobsCompleted", due); },
         1s, "finish Complete/AllJobsCompleted"},
        {"it ends", judged, [](Observed& o) { o.job_set->meta.deletion = due; }, 20s, "run: wait until gone"},
        {"it has gone before the back-off is over", gone, nothing, 9s, "run: back off, no build"},
        {"the back-off is over", gone, nothing, 10s, "run: create"},
        {"the back-off was forged", gone, [](Observed& o) { *o.job->attempt.next += 25h; }, 0s,
         "run: create"},
        {"the job does not wait for an attempt", gone, [](Observed& o) { o.job->conditions.pop_back(); }, 0s,
         "run: create, rebuilds"},
        {"a suspended job waits, too", gone, suspend, 9s, "run: back off, no build"},
        {"and gets its JobSet then", gone, suspend, 10s, "run: create"},
        {"the deadline passes in the back-off", gone,
         [](Observed& o) { o.job->active_deadline_seconds = 60; }, 1s, "finish Failed/DeadlineExceeded"},
        {"the job is being deleted", gone, [](Observed& o) { o.job->meta.deletion = due; }, 10s,
         "run: leave, no build"},
    };
    for (const Row& row : rows) DYNAMIC_SECTION(row.name) {
            Observed observed = row.from();
            row.change(observed);
            CHECK(text(decide(observed, due + row.after)) == row.want);
        }
    CHECK(needs_live(decide(judged(), due), judged()) == Live::all);
}

TEST_CASE("the back-off after a hang is waited for, also by a suspended job", "[attempts]") {
    const auto requeue = [](const Observed& observed) {
        const Conclusion conclusion = conclude(observed, decide(observed, due + 3s), {}, due + 3s);
        CHECK(text(conclusion.conditions) == text(observed.job->conditions));
        CHECK(conclusion.events.empty());
        return conclusion.requeue_after;
    };
    CHECK(requeue(gone()) == 7s);
    Observed suspended = gone();
    suspend(suspended);
    CHECK(requeue(suspended) == 7s);
}

TEST_CASE("only the entry of its own attempt ends one that runs", "[attempts]") {
    CHECK(is_judged(judged()));
    struct Row {
        const char* name;
        void (*change)(Observed&);
    };
    const Row rows[] = {
        {"a number alone", [](Observed& o) { o.job->failures.clear(); }},
        {"the entry alone", [](Observed& o) { o.job->restarts = {}; }},
        {"the entry of another attempt", [](Observed& o) { o.job->failures.front().attempt = 1; }},
        {"an older entry",
         [](Observed& o) { o.job->failures.insert(o.job->failures.begin(), {.attempt = 1, .time = due}); }},
        {"an entry that ended the job",
         [](Observed& o) { o.job->failures.front().decision = api::FailureDecision::fail; }},
        {"an entry of a job without a policy",
         [](Observed& o) { o.job->failures.front().decision = api::FailureDecision::none; }},
        {"a JobSet that is no attempt", [](Observed& o) { o.job_set->is_attempt = false; }},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        Observed observed = judged();
        row.change(observed);
        CHECK_FALSE(is_judged(observed));
    }
}

TEST_CASE("an attempt that completes before it is ended keeps the restart that was counted", "[attempts]") {
    Observed observed = judged();
    observed.job_set->finished = condition("Completed", "True", "AllJobsCompleted", due + 1s);
    CHECK_FALSE(is_judged(observed));
    CHECK(restarts(observed) == api::Restarts{.all = 1, .counted = 1});
    CHECK_FALSE(takes_back_restarts(observed));
    const Conclusion done = conclude(observed, decide(observed, due + 2s), {}, due + 2s);
    CHECK(text(done.conditions) == "Complete=True/AllJobsCompleted");
    CHECK(done.restarts == api::Restarts{.all = 1, .counted = 1});
    // A number that was forged is not kept.
    observed.job->failures.clear();
    CHECK(restarts(observed) == api::Restarts());
    CHECK(takes_back_restarts(observed));
}

TEST_CASE("the next attempt has its whole time again", "[attempts]") {
    Observed next = gone();
    next.job_set = attempt(1).job_set;
    next.job_set->meta.creation = due + 10s;
    next.job_set->all_started = true;
    const api::Time later = due + 10s + 2h;
    next.availability->renewed = later;
    const Conclusion began = conclude(next, decide(next, due + 15s), {}, due + 15s);
    CHECK_FALSE(api::find_condition(began.conditions, "Restarting"));
    CHECK(began.attempt.began == due + 15s);
    next.job->conditions = began.conditions;
    next.job->attempt = began.attempt;
    CHECK(text(decide(next, later)) == "run: leave");
    next.job->trainer_status.last_progress = due + 11s;
    CHECK(text(decide(next, due + 11s + 1859s)) == "run: leave");
    next.availability->renewed = due + 11s + 1860s;
    CHECK(text(decide(next, due + 11s + 1860s)) == "finish Failed/ProgressDeadlineExceeded, judges the hang");
}

}  // namespace lifecycle
