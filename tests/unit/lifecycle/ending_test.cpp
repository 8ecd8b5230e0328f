#include "concluding.hpp"

namespace lifecycle {

TEST_CASE("what a job's end looks like", "[conclude]") {
    SECTION("completed, with the JobSet's words and time") {
        const Conclusion conclusion = conclude_after(completed_unseen(), 10min);
        CHECK(text(conclusion.conditions) == "Complete=True/AllJobsCompleted");
        CHECK(get(conclusion, "Complete").message == "jobset completed successfully");
        CHECK(get(conclusion, "Complete").last_transition == start + 30s);
        CHECK(text(conclusion.jobs_status) == "node: 1 succeeded");
        CHECK(text(conclusion.events) == "Normal AllJobsCompleted");
        CHECK(conclusion.own_writes_need_no_reconcile);
        CHECK(conclusion.requeue_after == std::nullopt);
    }
    SECTION("completed at an unknown time") {
        CHECK(get(conclude_after(completed_unseen(api::Time()), 10min), "Complete").last_transition ==
              start + 10min);
    }
    SECTION("completed before its JobSet was created, by a clock that is behind") {
        CHECK(get(conclude_after(completed_unseen(start - 1s), 10min), "Complete").last_transition ==
              start + 10min);
    }
    SECTION("completed before its status says created or resumed") {
        Observed observed = completed_unseen();
        observed.job->conditions = {condition("Suspended", "True", "Suspended")};
        observed.job->jobs_status.clear();
        const Conclusion conclusion = conclude_after(observed, 10min);
        CHECK(text(conclusion.conditions) == "Suspended=False/Resumed Complete=True/AllJobsCompleted");
        CHECK(text(conclusion.jobs_status) == "node: 1 succeeded");
    }
    SECTION("completed although Created was False") {
        Observed observed = completed_unseen();
        observed.job->conditions = {condition("Created", "False", "JobsBuildFailed")};
        CHECK(text(conclude_after(observed, 10min).conditions) == "Complete=True/AllJobsCompleted");
        CHECK(text(conclude_after(observed, 10min, {}, {CreatedCondition::on_failure}).conditions) ==
              "Complete=True/AllJobsCompleted");
    }
    SECTION("failed, with the first failure") {
        Observed observed = running();
        observed.job_set->finished = condition("Failed", "True", "FailedJobs", start + 30s, "jobset failed");
        observed.job_set->restarts = {.all = 2};
        const Outcome outcome = {.failure = api::Failure{.time = start + 28s,
                                                         .pod = "job-node-0-1-abcde",
                                                         .exit_code = 1,
                                                         .reason = "Error",
                                                         .failed_pods = 1}};
        const Conclusion conclusion = conclude_after(observed, 31s, outcome);
        CHECK(get(conclusion, "Failed").message ==
              "jobset failed. The first to fail: Pod job-node-0-1-abcde: exit code 1");
        REQUIRE(conclusion.failures.size() == 1);
        CHECK(conclusion.failures.front().pod == "job-node-0-1-abcde");
        CHECK(conclusion.failures.front().attempt == 2);
        CHECK(status_patch(*observed.job, conclusion)["status"]["failures"] ==
              api::to_json_tree(conclusion.failures));
    }
    SECTION("failed, and of earlier failures the newest four stay") {
        Observed observed = running();
        observed.job_set->finished = condition("Failed", "True", "FailedJobs", start + 30s);
        for (const char* pod : {"5", "4", "3", "2", "1"}) observed.job->failures.push_back({.pod = pod});
        std::string pods;
        for (const auto& each : conclude_after(observed, 31s, {.failure = api::Failure{.pod = "6"}}).failures)
            pods += each.pod;
        CHECK(pods == "65432");
    }
    SECTION("failed, and no Pod is left to say why") {
        Observed observed = running();
        observed.job_set->finished = condition("Failed", "True", "FailedJobs", start + 30s, "jobset failed");
        const Conclusion conclusion = conclude_after(observed, 31s);
        CHECK(get(conclusion, "Failed").message == "jobset failed");
        CHECK_FALSE(status_patch(*observed.job, conclusion)["status"].contains("failures"));
    }
    SECTION("past its deadline") {
        const Conclusion conclusion = conclude_after(with_deadline(running()), 90s);
        CHECK(text(conclusion.conditions) == "Failed=True/DeadlineExceeded");
        CHECK(get(conclusion, "Failed").message == "TrainJob exceeded its active deadline");
        CHECK(conclusion.events.front().note ==
              "TrainJob exceeded its active deadline of 60s: spec.activeDeadlineSeconds");
        CHECK(get(conclusion, "Failed").last_transition == start + 90s);
        CHECK(text(conclusion.events) == "Warning DeadlineExceeded");
    }
    SECTION("past its deadline without having been created") {
        Observed observed = with_deadline(submitted());
        CHECK(text(conclude_after(observed, 90s).conditions) == "Failed=True/DeadlineExceeded");
        observed.job->conditions = {condition("Created", "False", "JobsBuildFailed")};
        CHECK(text(conclude_after(observed, 90s).conditions) ==
              "Created=False/JobsBuildFailed Failed=True/DeadlineExceeded");
    }
    SECTION("past its deadline before its status says created") {
        Observed observed = with_deadline(running());
        observed.job->conditions.clear();
        CHECK(text(conclude_after(observed, 90s).conditions) == "Failed=True/DeadlineExceeded");
    }
    SECTION("an unsupported runtime") {
        Observed observed = submitted();
        observed.job->suspend = true;
        observed.job->runtime_ref = {"example.com", "Runtime", "x"};
        const Conclusion conclusion = conclude_after(observed, 10s);
        CHECK(text(conclusion.conditions) == "Failed=True/TrainingRuntimeNotSupported");
        CHECK(get(conclusion, "Failed").message ==
              "runtimeRef names a Runtime of \"example.com\", which is not supported");
    }
    SECTION("not without the live view that confirms it") {
        const Conclusion conclusion = conclude_after(
            with_deadline(running()), 90s, {.result = ReadFailed{"TrainJob default/job", lost_connection}});
        CHECK_FALSE(conclusion.status_changed);
        CHECK(conclusion.requeue_after == 1s);
        CHECK(conclusion.retry_state.failures == 1);
    }
}

TEST_CASE("cleaning up is tried until it is done", "[conclude]") {
    Observed observed = failed_by_deadline();
    SECTION("suspended first") {
        const Conclusion conclusion = conclude_after(observed, 80s);
        CHECK(conclusion.events.empty());
        CHECK_FALSE(conclusion.status_changed);
        CHECK(conclusion.requeue_after == 10s);
    }
    SECTION("then its Pods are given half a minute from the end") {
        observed.job_set->suspend = true;
        const Conclusion conclusion = conclude_after(observed, 80s);
        CHECK(conclusion.events.empty());
        CHECK(conclusion.requeue_after == 10s);
    }
    SECTION("deleted") {
        const Conclusion conclusion = conclude_after(observed, 150s);
        CHECK(text(conclusion.events) == "Normal JobSetDeleted");
        CHECK_FALSE(conclusion.status_changed);
        CHECK(conclusion.requeue_after == std::nullopt);
    }
    SECTION("gone already") {
        const auto error = server_error(404, "not found", api::Errc::not_found);
        const Conclusion conclusion = conclude_after(observed, 150s, refused(error, Write::remove));
        CHECK(conclusion.events.empty());
        CHECK(conclusion.requeue_after == std::nullopt);
        CHECK(conclusion.retry_state == RetryState{});
    }
    SECTION("another one by now, or a write in between: looked at again") {
        const auto error = server_error(409, "the UID in the precondition", api::Errc::conflict);
        const Conclusion conclusion = conclude_after(observed, 150s, refused(error, Write::remove));
        CHECK(conclusion.events.empty());
        CHECK(conclusion.requeue_after == 1s);
        CHECK(conclusion.retry_state == RetryState{});
    }
    SECTION("one Warning however often it fails") {
        for (int i = 0; i < 20; ++i) {
            const Conclusion conclusion =
                conclude_after(observed, i * 5min, refused(server_error(403, "no"), Write::remove));
            CHECK(text(conclusion.events) == (i == 0 ? "Warning JobSetDeletionFailed" : ""));
            CHECK(conclusion.requeue_after.has_value());
            observed.retry_state = conclusion.retry_state;
        }
        CHECK(text(conclude_after(observed, 2h).events) == "Normal JobSetDeleted");
        CHECK(conclude_after(observed, 2h).retry_state == RetryState{});
    }
    SECTION("then nothing is active") {
        observed.job_set.reset();
        const Conclusion conclusion = conclude_after(observed, 90s);
        CHECK(text(conclusion.jobs_status) == "node:");
        CHECK(conclusion.status_changed);
        CHECK(conclusion.events.empty());
    }
}

TEST_CASE("the next look at an ended job is at its TTL", "[conclude]") {
    Observed observed = completed();
    CHECK(conclude_after(observed, 40s).requeue_after == std::nullopt);
    observed.ttl = 60;
    CHECK(conclude_after(observed, 40s).requeue_after == 50s);
    observed.ttl = std::numeric_limits<std::int32_t>::max();
    CHECK(conclude_after(observed, 40s).requeue_after == 24h);
}

TEST_CASE("an end that is seen late is reported with its own time, so that its TTL has passed",
          "[conclude]") {
    Observed observed = completed_unseen(start + 30s);
    observed.ttl = 60;
    const Conclusion conclusion = conclude_after(observed, 1h);
    observed.job->conditions = conclusion.conditions;
    CHECK(text(decide(observed, start + 1h)) == "expire");
    CHECK(text(decide(observed, start + 89s)) == "clean up");
}

TEST_CASE("a TTL delete", "[conclude]") {
    Observed observed = completed();
    observed.ttl = 0;
    CHECK(text(conclude_after(observed, 1h).events) == "Normal TTLExpired");
    CHECK_FALSE(conclude_after(observed, 1h).status_changed);
    const Conclusion gone =
        conclude_after(observed, 1h, refused(server_error(404, "gone", api::Errc::not_found), Write::remove));
    CHECK(gone.events.empty());
    CHECK(gone.requeue_after == std::nullopt);
    for (const auto& error : {server_error(409, "changed", api::Errc::conflict), lost_connection}) {
        const Conclusion failed = conclude_after(observed, 1h, refused(error, Write::remove));
        CHECK(failed.events.empty());
        CHECK(failed.requeue_after == 1s);
    }
    CHECK(conclude_after(observed, 1h, {.result = ReadFailed{"TrainJob", lost_connection}}).requeue_after ==
          1s);
}

}  // namespace lifecycle
