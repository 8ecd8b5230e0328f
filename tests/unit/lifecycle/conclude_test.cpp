// Which conditions, events and writes follow from an outcome.
#include "concluding.hpp"

namespace lifecycle {

TEST_CASE("Created follows the outcome", "[conclude]") {
    struct Row {
        const char* name;
        Outcome outcome;
        const char* conditions;
        const char* message;
        const char* events;
    };
    const auto forbidden = [](const char* message) { return server_error(403, message); };
    const Row rows[] = {
        {"all is applied",
         {.job_set_written = true},
         "Created=True/JobsCreationSucceeded",
         "Succeeded to create Jobs",
         "Normal JobsCreationSucceeded"},
        {"the build fails", build_failed(), "Created=False/JobsBuildFailed",
         "spec.trainer.numNodes: must not be 3", "Warning JobsBuildFailed"},
        {"a quota says no", refused(forbidden("exceeded quota: q")), "Created=False/JobsCreationFailed",
         "JobSet default/job: exceeded quota: q", "Warning JobsCreationFailed"},
        {"an object belongs to another owner",
         {.result = ForeignObject{"Secret default/job-mpi-ssh-auth"}},
         "Created=False/JobsCreationFailed",
         "Secret default/job-mpi-ssh-auth exists already and does not belong to this TrainJob",
         "Warning JobsCreationFailed"},
        {"an object is left over from an earlier TrainJob of that name",
         {.result = ForeignObject{"ConfigMap default/job-runtime-snapshot", true}},
         "Created=False/JobsCreationFailed",
         "ConfigMap default/job-runtime-snapshot exists already and does not belong to this TrainJob, but to "
         "an "
         "earlier one of this name; it will be collected",
         "Warning JobsCreationFailed"},
        {"a permission is missing",
         refused(forbidden("is forbidden: User \"x\" cannot create resource \"y\"")), "", "", ""},
        {"the namespace goes away", refused(forbidden("because it is being terminated")), "", "", ""},
        {"the connection is lost", refused(lost_connection), "", "", ""},
        {"another write came first", refused(server_error(409, "modified", api::Errc::conflict)), "", "", ""},
        {"the snapshot cannot be read",
         {.result = ReadFailed{"ConfigMap default/x", lost_connection}},
         "",
         "",
         ""},
        {"a DELETE is refused", refused(forbidden("denied"), Write::remove), "", "", ""},
    };
    for (const Row& row : rows) DYNAMIC_SECTION(row.name) {
            const Conclusion conclusion = conclude_after(submitted(), 10s, row.outcome);
            CHECK(text(conclusion.conditions) == row.conditions);
            CHECK(text(conclusion.events) == row.events);
            CHECK(conclusion.status_changed == !conclusion.conditions.empty());
            const bool good = std::holds_alternative<Done>(row.outcome.result);
            CHECK(conclusion.retry_state.failures == (good ? 0 : 1));
            CHECK(conclusion.requeue_after == (good ? 30s : 1s));
            if (conclusion.conditions.empty()) return;
            CHECK(conclusion.conditions[0].message == row.message);
            CHECK(conclusion.conditions[0].last_transition == start + 10s);
            CHECK(conclusion.conditions[0].observed_generation == 1);
        }
}

TEST_CASE("an error takes no condition back", "[conclude]") {
    const Observed observed = running();
    CHECK_FALSE(conclude_after(observed, 10s, refused(lost_connection)).status_changed);
    // But it does not keep counts from being reported.
    Observed moved = observed;
    moved.job_set->replicated_jobs[0].ready = 0;
    const Conclusion conclusion =
        conclude_after(moved, 10s, {.result = ReadFailed{"Secret", lost_connection}});
    CHECK(text(conclusion.jobs_status) == "node: 1 active");
    CHECK(conclusion.status_changed);
}

TEST_CASE("a JobSet of another owner is reported by name", "[conclude]") {
    Observed observed = submitted();
    observed.job_set = job_set_of(*observed.job);
    make_foreign(observed);
    const Conclusion conclusion = conclude_after(observed, 10s);
    CHECK(get(conclusion, "Created").reason == "JobsCreationFailed");
    CHECK(get(conclusion, "Created").message ==
          "JobSet default/job exists already and does not belong to this TrainJob");
    CHECK(conclusion.jobs_status.empty());
    CHECK(conclusion.requeue_after == 1s);
}

TEST_CASE("a huge error text is cut", "[conclude]") {
    const Conclusion conclusion =
        conclude_after(submitted(), 10s, refused(server_error(422, std::string(100'000, 'x'))));
    CHECK(conclusion.conditions[0].message.size() == 32'768);
    CHECK(conclusion.events[0].note.size() == 1024);
}

TEST_CASE("a JobSet that an earlier job of the name has left is said to go", "[conclude]") {
    Observed observed = running();
    observed.job->conditions = {};
    observed.job->jobs_status = {};
    observed.job_set->meta.controller_uid = "earlier";
    observed.retry_state.failures = 5;
    const auto message = [&] { return conclude_after(observed, 10s).conditions.at(0).message; };
    CHECK(message() == "JobSet default/job exists already and does not belong to this TrainJob");
    observed.is_leftover = true;
    CHECK(message().ends_with("but to an earlier one of this name; it will be collected"));
    CHECK(conclude_after(observed, 10s).requeue_after == 2s);
}

TEST_CASE("what cannot be read changes no condition, whatever was decided", "[conclude]") {
    const Outcome unread = {.result = ReadFailed{"TrainJob default/job", lost_connection}};
    Observed expired = completed();
    expired.ttl = 0;
    Observed to_suspend = running();
    to_suspend.job->suspend = true;
    for (Observed observed :
         {with_deadline(running()), failed_by_deadline(), expired, to_suspend, completed_unseen()}) {
        observed.retry_state.failures = 3;
        const Conclusion conclusion = conclude_after(observed, 1h, unread);
        CHECK(conclusion.conditions == observed.job->conditions);
        CHECK(conclusion.events.empty());
        CHECK_FALSE(conclusion.decide_again);
        // Not every second, however long the deadline or TTL has passed.
        CHECK(conclusion.requeue_after == 8s);
        CHECK(conclusion.retry_state.failures == 4);
    }
    CHECK(conclude_after(with_deadline(running()), 59s, unread).requeue_after == 1s);
}

TEST_CASE("a transition is reported when it is stored", "[conclude]") {
    Observed observed = running();
    observed.job->suspend = true;
    observed.job->meta.generation = 2;
    Conclusion conclusion = conclude_after(observed, 1min);
    CHECK(conclusion.decide_again);
    CHECK(text(conclusion.conditions) == "Created=True/JobsCreationSucceeded Suspended=True/Suspended");
    CHECK(get(conclusion, "Suspended").message == "TrainJob is suspended");
    CHECK(get(conclusion, "Suspended").last_transition == start + 1min);
    CHECK(get(conclusion, "Created").observed_generation == 2);
    CHECK(text(conclusion.events) == "Normal Suspended");
    CHECK(conclusion.events[0].needs_status);

    observed.job->conditions = conclusion.conditions;
    observed.job->suspend = false;
    conclusion = conclude_after(observed, 2min);
    CHECK(text(conclusion.conditions) == "Suspended=False/Resumed Created=True/JobsCreationSucceeded");
    CHECK(get(conclusion, "Suspended").message == "TrainJob is resumed");
    CHECK(get(conclusion, "Suspended").last_transition == start + 2min);
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
        {"plugins may have more to say",
         submitted(),
         {.job_set_written = true, .plugins_follow = true},
         false},
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
    const Conclusion deleted = conclude_after(observed, 90s);
    const Conclusion failed = after_failed_status_write(deleted, observed, lost_connection, start + 90s);
    CHECK(text(failed.events) == "Normal JobSetDeleted");
    CHECK(failed.requeue_after == 1s);
    CHECK(failed.retry_state ==
          RetryState{.failures = 1, .errors_since = start + 90s, .waits_until = start + 91s});

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
        conclude_after(observed, 10s, {.result = WaitingForClaim{"PersistentVolumeClaim ns/data-job"}});
    CHECK(text(waiting.events) == "Normal WaitingForDeletion");
    CHECK(waiting.events[0].note ==
          "PersistentVolumeClaim ns/data-job is being deleted; the JobSet is created once it is gone");
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

TEST_CASE("plugins' conditions are merged", "[conclude]") {
    const Outcome outcome = {
        .plugin_conditions = {condition("Ready", "True", "Yes"), condition("Failed", "True", "No")}};
    CHECK(text(conclude_after(running(), 10s, outcome).conditions) ==
          "Ready=True/Yes Created=True/JobsCreationSucceeded");
    CHECK(text(conclude_after(completed_unseen(), 1min, outcome).conditions) ==
          "Ready=True/Yes Created=True/JobsCreationSucceeded Complete=True/AllJobsCompleted");
}

TEST_CASE("conditions stay as new as the spec", "[conclude]") {
    Observed observed = completed();
    observed.job->meta.generation = 5;
    CHECK(get(conclude_after(observed, 1min), "Complete").observed_generation == 5);
    SECTION("but not those of a release that never noted it") {
        for (auto& c : observed.job->conditions) c.observed_generation = 0;
        CHECK_FALSE(conclude_after(observed, 1min).status_changed);
    }
    SECTION("and not for the deletion, which is a generation as well") {
        observed.job->meta.deletion = start;
        CHECK_FALSE(conclude_after(observed, 1min).status_changed);
    }
}

TEST_CASE("a settled state concludes with nothing to write", "[conclude]") {
    const auto fresh = [] {
        Observed observed = failed_by_deadline();
        observed.job_set.reset();
        observed.job->jobs_status = {{.name = "node"}};
        return observed;
    };
    const std::pair<const char*, Observed> settled[] = {{"running", running()},
                                                        {"suspended", suspended()},
                                                        {"completed", completed()},
                                                        {"with a deadline", with_deadline(running())},
                                                        {"failed and cleaned up", fresh()}};
    for (const auto& [name, observed] : settled)
        for (const auto elapsed : {-3600s, 0s, 30s, 59s}) {
            INFO(name << " after " << elapsed.count() << " s");
            const Conclusion conclusion = conclude_after(observed, elapsed);
            CHECK_FALSE(conclusion.status_changed);
            CHECK(conclusion.events.empty());
            CHECK(conclusion.conditions == observed.job->conditions);
        }
}

TEST_CASE("what is not ours gets nothing", "[conclude]") {
    Observed observed = running();
    observed.job->managed_by = "kueue.x-k8s.io/multikueue";
    observed.job->jobs_status.clear();
    for (const Decision& decision : {Decision(Ignore{}), Decision(Run{}), Decision(CleanUp{})})
        for (const Outcome& outcome :
             {Outcome(), refused(lost_connection), Outcome{.result = ReadFailed{"x", lost_connection}}}) {
            const Conclusion conclusion = conclude(observed, decision, outcome, start);
            CHECK_FALSE(conclusion.status_changed);
            CHECK(conclusion.events.empty());
            CHECK(conclusion.requeue_after == std::nullopt);
        }
    CHECK_FALSE(conclude_after({}, 1h).status_changed);
}

TEST_CASE("the status patch holds what differs", "[conclude]") {
    Observed observed = running();
    Conclusion conclusion = conclude_after(observed, 10s);
    CHECK(api::to_json(status_patch(*observed.job, conclusion)) == R"({"status":{}})");
    conclusion.jobs_status = {{.name = "node", .ready = 2}};
    CHECK(
        api::to_json(status_patch(*observed.job, conclusion)) ==
        R"({"status":{"jobsStatus":[{"active":0,"failed":0,"name":"node","ready":2,"succeeded":0,"suspended":0}]}})");
    conclusion.jobs_status = observed.job->jobs_status;
    conclusion.conditions[0].message = "m";
    CHECK(api::to_json(status_patch(*observed.job, conclusion)) ==
          R"({"status":{"conditions":[{"lastTransitionTime":"2026-01-15T10:00:00Z","message":"m",)"
          R"("observedGeneration":1,"reason":"JobsCreationSucceeded","status":"True","type":"Created"}]}})");
    conclusion.conditions.clear();
    CHECK(api::to_json(status_patch(*observed.job, conclusion)) == R"({"status":{"conditions":[]}})");
}

}  // namespace lifecycle
