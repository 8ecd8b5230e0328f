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

TEST_CASE("plugins' conditions are merged", "[conclude]") {
    const Outcome outcome = {
        .plugin_conditions = {condition("Ready", "True", "Yes"), condition("Failed", "True", "No")}};
    CHECK(text(conclude_after(running(), 10s, outcome).conditions) ==
          "Ready=True/Yes Created=True/JobsCreationSucceeded");
    CHECK(text(conclude_after(completed_unseen(), 1min, outcome).conditions) ==
          "Ready=True/Yes Complete=True/AllJobsCompleted");
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
