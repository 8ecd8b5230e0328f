// When a job is reconciled again.
#include "concluding.hpp"

namespace lifecycle {

TEST_CASE("what an earlier job of the name has left is looked at every other second", "[conclude]") {
    Observed observed = submitted();
    observed.retry_state.failures = 5;
    const Outcome mine = {.result = ForeignObject{"ConfigMap default/x"}};
    const Outcome leftover = {.result = ForeignObject{"ConfigMap default/x", true}};
    CHECK(conclude_after(observed, 10s, mine).requeue_after == 32s);
    CHECK(conclude_after(observed, 10s, leftover).requeue_after == 2s);
}

TEST_CASE("a job that cannot be created is tried again ever more slowly", "[conclude]") {
    Observed observed = submitted();
    std::vector<std::int64_t> delays;
    for (int i = 0; i < 11; ++i) {
        const Conclusion conclusion = conclude_after(observed, std::chrono::seconds(i * 300), build_failed());
        CHECK(conclusion.status_changed == (i == 0));
        CHECK(text(conclusion.events) == (i == 0 ? "Warning JobsBuildFailed" : ""));
        observed.job->conditions = conclusion.conditions;
        observed.job->start_time = conclusion.start_time;
        observed.retry_state = conclusion.retry_state;
        delays.push_back(conclusion.requeue_after->count());
    }
    CHECK(delays == std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300});
    CHECK(conclude_after(observed, 1h).retry_state == RetryState{});
}

// While the network is bad, others may change the job and its JobSet many times a second.
TEST_CASE("what fails again before its time does not wait longer next time", "[conclude]") {
    Observed observed = running();
    for (const Outcome& outcome : {refused(lost_connection), build_failed()}) {
        observed.retry_state = {};
        for (int event = 0; event < 9; ++event) {
            const Conclusion conclusion = conclude_after(observed, 10s, outcome);
            CHECK(conclusion.requeue_after == 1s);
            observed.retry_state = conclusion.retry_state;
        }
        CHECK(conclude_after(observed, 11s, outcome).requeue_after == 2s);
        // The clock was set back.
        CHECK(conclude_after(observed, 9s, outcome).requeue_after == 2s);
    }
}

TEST_CASE("a retry does not sleep through a deadline", "[conclude]") {
    Observed observed = with_deadline(submitted());
    observed.retry_state.failures = 20;
    CHECK(conclude_after(observed, 10s, build_failed()).requeue_after == 50s);
    CHECK(conclude_after(observed, 59s, refused(lost_connection)).requeue_after == 1s);
}

TEST_CASE("the API server says when to come again", "[conclude]") {
    api::Error error = server_error(429, "slow down", api::Errc::unavailable);
    error.retry_after = 17s;
    CHECK(conclude_after(submitted(), 10s, refused(error)).requeue_after == 17s);
    error.retry_after = 0s;
    CHECK(conclude_after(submitted(), 10s, refused(error)).requeue_after == 1s);
}

TEST_CASE("the deadline requeues the job, at least a second ahead and within a day", "[conclude]") {
    CHECK(conclude_after(running(), 10s).requeue_after == std::nullopt);
    CHECK(conclude_after(with_deadline(running()), 10s).requeue_after == 50s);
    CHECK(conclude_after(with_deadline(running()), -1h).requeue_after == 3660s);
    CHECK(conclude_after(with_deadline(running(), std::chrono::hours(24 * 365)), 10s).requeue_after == 24h);
    CHECK(conclude_after(with_deadline(running(), std::chrono::seconds::max()), 10s).requeue_after ==
          std::nullopt);
    CHECK(conclude_after(with_deadline(suspended()), 10s).requeue_after == std::nullopt);
}

TEST_CASE("a reconcile needs no further one if the writes that it has made leave nothing to do",
          "[conclude]") {
    const Outcome written = {.job_set_written = true};
    const auto with_ttl = [](Observed observed) {
        observed.ttl = 60;
        return observed;
    };
    struct Row {
        const char* name;
        Observed observed;
        Outcome outcome;
        bool want;
    };
    const Row rows[] = {
        {"the first JobSet was created", submitted(), written, true},
        {"it was created, and there is a deadline", with_deadline(submitted()), written, true},
        {"its creation failed", submitted(), refused(lost_connection), false},
        {"nothing could be built", submitted(), build_failed(), false},
        {"the job runs", running(), {}, false},
        {"the JobSet has ended", completed_unseen(), {}, true},
        {"it has ended, and there is a TTL", with_ttl(completed_unseen()), {}, false},
        {"it has ended, and the TTL is unknown",
         completed_unseen(),
         {.policy_unread = ReadFailed{"ConfigMap default/job", lost_connection}},
         false},
        {"the deadline has passed: there is something to delete", with_deadline(running(), 1s), {}, false},
        {"the JobSet was deleted", failed_by_deadline(), {}, false},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        const Conclusion conclusion = conclude_after(row.observed, 30s, row.outcome);
        CHECK(conclusion.own_writes_need_no_reconcile == row.want);
        CHECK_FALSE(after_failed_status_write(conclusion, row.observed, lost_connection, start + 30s)
                        .own_writes_need_no_reconcile);
    }
}

TEST_CASE("a status that could not be written counts as a failed reconcile", "[conclude]") {
    const Observed observed = failed_by_deadline();
    const Conclusion deleted = conclude_after(observed, 150s);
    const Conclusion failed = after_failed_status_write(deleted, observed, lost_connection, start + 150s);
    CHECK(text(failed.events) == "Normal JobSetDeleted");
    CHECK(failed.requeue_after == 1s);
    CHECK(failed.retry_state ==
          RetryState{.failures = 1, .errors_since = start + 150s, .waits_until = start + 151s});

    Observed to_suspend = running();
    to_suspend.job->suspend = true;
    to_suspend.retry_state = {.failures = 3, .errors_since = start};
    const Conclusion transition =
        after_failed_status_write(conclude_after(to_suspend, 90s), to_suspend, lost_connection, start + 90s);
    CHECK_FALSE(transition.decide_again);
    CHECK(text(transition.events) == "Warning ReconcileError");
    CHECK(transition.events[0].note == "TrainJob default/job status: connection reset");
    CHECK(
        transition.retry_state ==
        RetryState{.failures = 4, .errors_since = start, .warned = start + 90s, .waits_until = start + 98s});
    CHECK(transition.requeue_after == 8s);

    // An end that waits to be written is no reason to hurry a server that asked for a pause.
    Observed overdue = running();
    overdue.job->active_deadline_seconds = 60;
    const api::Error busy = {.code = api::Errc::unavailable, .http_status = 429, .retry_after = 7s};
    const Conclusion paused =
        after_failed_status_write(conclude_after(overdue, 90s), overdue, busy, start + 90s);
    CHECK(paused.requeue_after == 7s);

    // Once per reconcile, also if the reconcile had failed before.
    const Conclusion twice = after_failed_status_write(conclude_after(submitted(), 0s, build_failed()),
                                                       submitted(), lost_connection, start);
    CHECK(twice.retry_state.failures == 1);
    CHECK(twice.events.empty());
}

}  // namespace lifecycle
