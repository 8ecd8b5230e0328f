#include "lifecycle/run_policy.hpp"

#include "concluding.hpp"

namespace lifecycle {
namespace {

constexpr api::RunPolicy one = {.ttl_seconds_after_finished = 10};
constexpr api::RunPolicy other = {.active_deadline_seconds = 5000, .max_active_deadline_seconds = 7000};

Outcome built_from(const api::RunPolicy& policy) {
    Outcome outcome;
    outcome.run_policy = policy;
    outcome.job_set_written = true;
    return outcome;
}

// Its JobSet was created, and no status was written since.
Observed crashed() {
    Observed observed = running();
    const Observed before = submitted();
    observed.job->conditions.clear();
    observed.job->jobs_status.clear();
    observed.job->runtime_digest.clear();
    observed.job->run_policy = before.job->run_policy;
    observed.job->start_time = before.job->start_time;
    return observed;
}

}  // namespace

TEST_CASE("a job's status takes what it was built from", "[policy]") {
    CHECK(conclude_after(submitted(), 1s, built_from(one)).run_policy == one);
    CHECK(conclude_after(submitted(), 1s, built_from({})).run_policy == api::RunPolicy());
    CHECK_FALSE(conclude_after(submitted(), 1s, build_failed()).run_policy);
    // Also if the JobSet is refused, and again as long as there is none.
    Outcome refusal = refused(server_error(422, "no", api::Errc::invalid));
    refusal.run_policy = one;
    Observed waiting = submitted();
    CHECK(conclude_after(waiting, 1s, refusal).run_policy == one);
    waiting.job->run_policy = other;
    CHECK(conclude_after(waiting, 1s, refusal).run_policy == one);
    CHECK(conclude_after(waiting, 1s, build_failed()).run_policy == other);
}

TEST_CASE("what a job began with stays", "[policy]") {
    Observed observed = running();
    observed.job->run_policy = one;
    observed.live_policy = other;
    CHECK(*policy_of(observed) == one);
    CHECK_FALSE(wants_snapshot_policy(observed));
    CHECK(conclude_after(observed, 1s, built_from(other)).run_policy == one);
    observed.job_set.reset();
    CHECK(*policy_of(observed) == one);
    CHECK(conclude_after(observed, 1s, built_from(other)).run_policy == one);
}

TEST_CASE("until it begins, a job goes by the live runtime", "[policy]") {
    Observed observed = submitted();
    CHECK_FALSE(policy_of(observed));
    observed.job->run_policy = one;
    CHECK(*policy_of(observed) == one);  // the runtime is gone
    observed.live_policy = other;
    CHECK(*policy_of(observed) == other);
    CHECK_FALSE(wants_snapshot_policy(observed));
    const Conclusion ended = conclude_after(observed, 5000s);
    CHECK(get(ended, "Failed").reason == "DeadlineExceeded");
    CHECK(ended.run_policy == other);
}

TEST_CASE("the snapshot tells what a job began with whose status does not", "[policy]") {
    Observed observed = crashed();
    CHECK(wants_snapshot_policy(observed));
    observed.live_policy = other;
    CHECK_FALSE(policy_of(observed));
    CHECK_FALSE(conclude_after(observed, 1s).run_policy);
    observed.snapshot_policy = one;
    CHECK(*policy_of(observed) == one);
    CHECK(conclude_after(observed, 1s).run_policy == one);
    // A status of before the JobSet may tell of another snapshot.
    observed.job->run_policy = other;
    CHECK(wants_snapshot_policy(observed));
    CHECK(*policy_of(observed) == one);
    CHECK(conclude_after(observed, 1s).run_policy == one);
    // What was taken over has none until it is stored.
    observed.job->run_policy.reset();
    observed.snapshot_policy = api::RunPolicy();
    observed.job_set->applied_here = false;
    CHECK_FALSE(conclude_after(observed, 1s).run_policy);
    CHECK(conclude_after(observed, 1s, built_from(other)).run_policy == other);
}

TEST_CASE("a job's status says what it began with from its JobSet on, and for good", "[policy]") {
    Outcome outcome = built_from(one);
    outcome.runtime_digest = "sha256:a";
    CHECK(conclude_after(submitted(), 1s, outcome).runtime_digest == "sha256:a");
    // A refused JobSet may still be built from a corrected runtime.
    Outcome refusal = refused(server_error(422, "no", api::Errc::invalid));
    refusal.runtime_digest = "sha256:a";
    CHECK(conclude_after(submitted(), 1s, refusal).runtime_digest.empty());
    CHECK(conclude_after(submitted(), 1s, Outcome{.result = ReadyToCreate()}).runtime_digest.empty());

    const Observed began = running();
    CHECK(conclude_after(began, 1s, outcome).runtime_digest == "sha256:0");
    CHECK_FALSE(conclude_after(began, 1s).status_changed);

    SECTION("after a crash, as the JobSet says") {
        const Conclusion conclusion = conclude_after(crashed(), 1s);
        CHECK(conclusion.runtime_digest == "sha256:0");
        CHECK(status_patch(*crashed().job, conclusion)["status"]["runtimeDigest"] == "sha256:0");
    }
    SECTION("but not while the JobSet may be made anew") {
        Observed late = crashed();
        late.job->meta.generation = 2;
        REQUIRE(may_be_outdated(late));
        CHECK(conclude_after(late, 1s, {.result = ReadFailed{"JobSet default/job", lost_connection}})
                  .runtime_digest.empty());
        CHECK(conclude_after(late, 1s).runtime_digest == "sha256:0");
    }
    SECTION("of a JobSet of Kubeflow Trainer, as its snapshot says") {
        Observed older = running();
        older.job->runtime_digest.clear();
        older.job_set->runtime_digest.clear();
        older.job->run_policy = one;
        CHECK(wants_snapshot(older));
        CHECK_FALSE(wants_snapshot_policy(older));
        CHECK_FALSE(conclude_after(older, 1s).status_changed);
        older.snapshot_policy = other;
        older.snapshot_digest = "sha256:b";
        const Conclusion conclusion = conclude_after(older, 1s);
        CHECK(conclusion.runtime_digest == "sha256:b");
        CHECK(conclusion.run_policy == one);
        older.job->runtime_digest = conclusion.runtime_digest;
        CHECK_FALSE(wants_snapshot(older));
    }
    SECTION("no more after its end") {
        Observed ended = completed();
        ended.job->runtime_digest.clear();
        CHECK_FALSE(wants_snapshot(ended));
        CHECK_FALSE(conclude_after(ended, 1h).status_changed);
    }
}

TEST_CASE("a job that has begun is not corrected, although its JobSet and its counts are gone", "[policy]") {
    Observed observed = running();
    observed.job_set.reset();
    observed.job->jobs_status.clear();
    const Conclusion conclusion = conclude_after(observed, 1s, build_failed());
    CHECK(get(conclusion, "Created").status == "False");
    observed.job->conditions = conclusion.conditions;
    CHECK(had_job_set(*observed.job));
    CHECK_FALSE(api::may_be_corrected(*observed.job));
}

TEST_CASE("an unfinished job of Kubeflow Trainer gets what it began with, and its start, in one write",
          "[policy]") {
    Observed observed = running();
    observed.job->run_policy.reset();
    observed.job->start_time.reset();
    CHECK(wants_snapshot_policy(observed));
    observed.snapshot_policy = one;
    const Conclusion conclusion = conclude_after(observed, 1h);
    CHECK(to_json(status_patch(*observed.job, conclusion)) ==
          R"({"status":{"runPolicy":{"ttlSecondsAfterFinished":10},"startTime":"2026-01-15T10:00:00Z"}})");
    // One that has ended stays as it is.
    Observed ended = completed();
    ended.job->run_policy.reset();
    ended.job->start_time.reset();
    ended.job->completion_time.reset();
    ended.live_policy = other;
    CHECK_FALSE(wants_snapshot_policy(ended));
    CHECK_FALSE(conclude_after(ended, 1h, built_from(other)).status_changed);
}

TEST_CASE("a snapshot that cannot be read is an error and changes nothing", "[policy]") {
    Observed observed = running();
    observed.job->run_policy.reset();
    const Conclusion conclusion =
        conclude_after(observed, 1h, {.policy_unread = ReadFailed{"ConfigMap default/job", lost_connection}});
    CHECK_FALSE(conclusion.status_changed);
    CHECK(conclusion.retry_state.failures == 1);
    CHECK(conclusion.requeue_after == 1s);
}

TEST_CASE("what was stored before the JobSet does not stay if the snapshot cannot be read", "[policy]") {
    Observed observed = crashed();
    observed.job->run_policy = other;
    const Outcome unread = {.policy_unread = ReadFailed{"ConfigMap default/job", lost_connection}};
    const Conclusion conclusion = conclude_after(observed, 1s, unread);
    CHECK(get(conclusion, "Created").is_true());
    CHECK_FALSE(conclusion.run_policy);
    CHECK(status_patch(*observed.job, conclusion)["status"]["runPolicy"].is_null());
    CHECK(status_patch(*observed.job, conclusion)["status"].contains("runPolicy"));
    observed.job->conditions = conclusion.conditions;
    observed.job->run_policy = conclusion.run_policy;
    CHECK(wants_snapshot_policy(observed));
    // Where nothing else is to be written, the error alone is no reason for a write.
    observed.job->run_policy = other;
    observed.job->conditions.clear();
    observed.job_set->replicated_jobs.clear();
    CHECK_FALSE(conclude_after(observed, 1s, {.result = ReadFailed{"x", lost_connection}}).status_changed);
}

TEST_CASE("a status takes the times of conditions and metadata", "[policy]") {
    struct Row {
        const char* name;
        Observed observed;
        std::optional<api::Time> started, ended;
    };
    Observed resumed = suspended();
    resumed.job->suspend = false;
    Observed resumed_before = running();
    resumed_before.job->conditions.push_back(condition("Suspended", "False", "Resumed", start + 9s));
    Observed to_suspend = running();
    to_suspend.job->suspend = true;
    Observed to_suspend_completed = completed_unseen();
    to_suspend_completed.job->suspend = true;
    Observed new_and_suspended = submitted();
    new_and_suspended.job->suspend = true;
    const Row rows[] = {
        {"it is new", submitted(), start, {}},
        {"it is new and suspended", new_and_suspended, {}, {}},
        {"it runs", running(), start, {}},
        {"it is suspended", to_suspend, {}, {}},
        {"it stays suspended", suspended(), {}, {}},
        {"it is resumed", resumed, start + 1h, {}},
        {"it was resumed", resumed_before, start + 9s, {}},
        {"it completes", completed_unseen(), start, start + 30s},
        {"it completes while it is to be suspended", to_suspend_completed, start, start + 30s},
        {"it has completed", completed(), start, start + 30s},
        {"it exceeds its deadline", with_deadline(running()), start, start + 1h},
    };
    for (const Row& row : rows) DYNAMIC_SECTION(row.name) {
            for (const auto forged : {std::optional<api::Time>(), std::optional(start + 77s)}) {
                Observed observed = row.observed;
                const bool has_ended = api::terminal_condition(*observed.job) != nullptr;
                if (has_ended && !forged) continue;
                observed.job->start_time = observed.job->completion_time = forged;
                const Conclusion conclusion = conclude_after(observed, 1h);
                CHECK(conclusion.start_time == row.started);
                CHECK(conclusion.completion_time == row.ended);
            }
        }
}

TEST_CASE("a job that ended before its suspension was stored keeps its start", "[policy]") {
    Observed observed = completed_unseen();
    observed.job->suspend = true;
    const Conclusion ended = conclude_after(observed, 1h);
    CHECK(get(ended, "Suspended").status == "True");
    Observed later = completed();
    later.job->suspend = true;
    later.job->conditions = ended.conditions;
    later.job->start_time = ended.start_time;
    later.job->completion_time = ended.completion_time;
    later.job->run_policy = ended.run_policy;
    CHECK(conclude_after(later, 2h).start_time == start);
}

TEST_CASE("a job that is built from its snapshot is looked at again for the deadline in it", "[policy]") {
    const api::RunPolicy limited = {.active_deadline_seconds = 20};
    Outcome outcome = built_from(limited);
    outcome.job_set_written = true;
    CHECK(conclude_after(submitted(), 1s, outcome).requeue_after == 1s);
    Observed observed = submitted();
    observed.live_policy = limited;
    CHECK(conclude_after(observed, 1s, outcome).requeue_after == 19s);
}

TEST_CASE("a reconcile that could not look, and an error without a verdict, write no times", "[policy]") {
    for (const Outcome& outcome :
         {Outcome{.result = ReadFailed{"TrainJob default/job", lost_connection}}, refused(lost_connection)}) {
        const Conclusion conclusion = conclude_after(submitted(), 1s, outcome);
        CHECK_FALSE(conclusion.status_changed);
    }
}

TEST_CASE("a patch of the status removes what is not there any more", "[policy]") {
    Observed observed = submitted();
    observed.job->run_policy = one;
    observed.job->start_time = observed.job->completion_time = start;
    Conclusion conclusion;
    conclusion.run_policy = api::RunPolicy{.active_deadline_seconds = 60};
    CHECK(to_json(status_patch(*observed.job, conclusion)) ==
          R"({"status":{"completionTime":null,"runPolicy":{"activeDeadlineSeconds":60,)"
          R"("ttlSecondsAfterFinished":null},"startTime":null}})");
    observed.job->run_policy.reset();
    conclusion = {.run_policy = api::RunPolicy(), .start_time = start, .completion_time = start};
    CHECK(to_json(status_patch(*observed.job, conclusion)) == R"({"status":{"runPolicy":{}}})");
}

}  // namespace lifecycle
