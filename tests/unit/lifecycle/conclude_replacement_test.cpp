// What is concluded while a JobSet or its Jobs are made anew, or are suspended.
#include "concluding.hpp"

namespace lifecycle {

TEST_CASE("a JobSet that is built again is reported", "[conclude]") {
    Observed observed = running();
    observed.job_set.reset();
    const Outcome applied = {.job_set_written = true,
                             .events = {warning_event("GPUCountUnknown", "claim c")}};
    CHECK(text(conclude_after(observed, 10s, applied).events) ==
          "Warning JobSetRecreated, Warning GPUCountUnknown");
    CHECK(text(conclude_after(observed, 10s, refused(lost_connection)).events).empty());
    // The build's events come again with every reconcile; they are reported when they take effect.
    CHECK(conclude_after(running(), 10s, {.events = applied.events}).events.empty());
}

TEST_CASE("a suspended JobSet that must be made anew", "[conclude]") {
    Observed observed = suspended();
    observed.job->suspend = false;
    observed.job->conditions[1] = condition("Suspended", "False", "Resumed");
    const Conclusion removed =
        conclude_after(observed, 10s, {.result = JobSetRemoved{"numNodes is immutable"}});
    CHECK(text(removed.events) == "Normal JobSetDeleted");
    CHECK(removed.events[0].note == "The JobSet is built anew: numNodes is immutable");
    CHECK(get(removed, "Created").is_true());
    const Conclusion waiting = conclude_after(observed, 10s, {.result = Waiting{"image is immutable"}});
    CHECK(text(waiting.events) == "Normal WaitingForPods");
    CHECK(waiting.events[0].note ==
          "The JobSet takes a change once none of its pods is active: image is immutable");
    CHECK(get(waiting, "Created").is_true());
    CHECK(waiting.requeue_after == 5min);  // a stall by then
}

TEST_CASE(
    "Jobs of a suspended JobSet that are made anew are reported once, and looked at until they are there",
    "[conclude]") {
    Observed observed = suspended();
    const Conclusion removed = conclude_after(observed, 10s, {.result = JobsReplaced{"zone is gone", true}});
    CHECK(text(removed.events) == "Normal JobsReplaced");
    CHECK_FALSE(removed.status_changed);
    CHECK(removed.requeue_after == 1s);
    CHECK(removed.retry_state == RetryState());
    Conclusion waiting = removed;
    for (const auto wait : {1s, 2s, 4s}) {
        waiting = conclude_after(observed, 10s, {.result = JobsReplaced{"zone is gone", false}});
        CHECK(waiting.events.empty());
        CHECK_FALSE(waiting.status_changed);
        CHECK(waiting.requeue_after == wait);
        observed.retry_state = waiting.retry_state;
        observed.retry_state.waits_until = start;
    }
    observed.retry_state.failures = 4;
    waiting = conclude_after(observed, 10s, {.result = JobsReplaced{"zone is gone", false, "Job ns/j"}});
    CHECK(text(waiting.events) == "Normal WaitingForJobs");
    CHECK(waiting.events[0].note ==
          "The job goes on once its Jobs have been created again; it waits for Job ns/j");
}

TEST_CASE("a claim that is being deleted is waited for, and named", "[conclude]") {
    Observed observed = suspended();
    observed.job_set.reset();
    const Conclusion waiting =
        conclude_after(observed, 10s, {.result = WaitingForDeletion{{"PersistentVolumeClaim ns/data-job"}}});
    CHECK(text(waiting.events) == "Normal WaitingForDeletion");
    CHECK(waiting.events[0].note ==
          "PersistentVolumeClaim ns/data-job is being deleted; the job goes on once it is gone");
    CHECK(waiting.requeue_after == 1s);
    CHECK(get(waiting, "Created").is_true());
}

TEST_CASE("keys that are gone beside running Pods are reported, with the way out", "[conclude]") {
    const Conclusion lost = conclude_after(running(), 10s, {.lost = {"Secret ns/keys"}});
    CHECK(text(lost.events) == "Warning KeysLost");
    CHECK(lost.events[0].note.starts_with("Secret ns/keys is gone."));
    CHECK(lost.events[0].note.ends_with("restore it, or suspend and resume the TrainJob"));
}

TEST_CASE("nothing is learned about creating while an old JobSet goes", "[conclude]") {
    Observed observed = running();
    observed.job_set->meta.deletion = start;
    observed.job->conditions = {condition("Created", "False", "JobsBuildFailed")};
    CHECK_FALSE(conclude_after(observed, 10s).status_changed);
    CHECK(text(conclude_after(observed, 10s).events) == "Normal WaitingForDeletion");
    CHECK(text(conclude_after(observed, 10s, refused(server_error(422, "no"))).conditions) ==
          "Created=False/JobsCreationFailed");
}

TEST_CASE("nothing is learned about creating while pods of a suspended job still end", "[conclude]") {
    Observed observed = suspended();
    observed.job_set->replicated_jobs = {{.name = "node", .active = 1, .suspended = 1}};
    observed.job->jobs_status = observed.job_set->replicated_jobs;
    observed.job->conditions[0] = condition("Created", "False", "JobsCreationFailed");
    CHECK(get(conclude_after(observed, 10s), "Created").reason == "JobsCreationFailed");
    SECTION("but what no status tells of yet is there") {
        std::erase_if(observed.job->conditions, [](const auto& c) { return c.type == "Created"; });
        CHECK(get(conclude_after(observed, 10s), "Created").is_true());
    }
}

TEST_CASE("nothing is learned about creating while the TrainJob is being deleted", "[conclude]") {
    Observed observed = submitted();
    observed.job->meta.deletion = start;
    CHECK_FALSE(conclude_after(observed, 10s).status_changed);
    observed = running();
    observed.job->meta.deletion = start;
    observed.job->conditions = {condition("Created", "False", "JobsBuildFailed")};
    CHECK_FALSE(conclude_after(observed, 10s).status_changed);
}

TEST_CASE("a failed suspend says nothing about creating", "[conclude]") {
    Observed observed = suspended();
    observed.job_set->suspend = false;
    const Conclusion conclusion =
        conclude_after(observed, 10s, refused(server_error(403, "denied"), Write::suspend));
    CHECK(get(conclusion, "Created").is_true());
    CHECK(conclusion.requeue_after == 1s);
}

}  // namespace lifecycle
