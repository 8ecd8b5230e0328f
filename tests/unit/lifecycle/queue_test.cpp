// A JobSet that is in a queue of Kueue by a label of its own, which its TrainJob lacks.
#include "concluding.hpp"
#include "lifecycle/deadline.hpp"

namespace lifecycle {
namespace {

// `written`: what was last written of the TrainJob's `spec.suspend`.
Observed queued(bool job_suspends, bool job_set_suspended, std::optional<bool> written) {
    Observed observed = job_suspends ? suspended() : running();
    observed.job_set->queue = "team";
    observed.job_set->suspend = job_set_suspended;
    observed.job_set->written_suspend = written;
    if (job_set_suspended) observed.job_set->replicated_jobs = {{.name = "node", .suspended = 1}};
    return observed;
}

std::string decided(const Observed& observed) { return text(decide(observed, start + 10s)); }

}  // namespace

TEST_CASE("a change of the TrainJob's suspend is written to a JobSet in a queue once", "[decide]") {
    struct Row {
        bool job_suspends, job_set_suspended;
        std::optional<bool> written;
        const char* want;
        const char* why;
    };
    const Row rows[] = {
        {false, true, false, "run: leave", "Kueue has suspended it"},
        {false, false, false, "run: leave", "Kueue has admitted it"},
        {false, true, true, "run: resume", "the TrainJob was resumed"},
        {false, true, std::nullopt, "run: resume", "nothing was written by this release"},
        {true, false, false, "run: suspend, leave", "the TrainJob was suspended"},
        {true, false, std::nullopt, "run: suspend, leave", "nothing was written by this release"},
        {true, false, true, "run: leave", "Kueue has resumed it"},
        {true, true, true, "run: update", "both are suspended"},
        {true, true, false, "run: update", "both are suspended, first by Kueue"},
    };
    for (const Row& row : rows) {
        DYNAMIC_SECTION(row.why << ": " << row.job_suspends << row.job_set_suspended) {
            Observed observed = queued(row.job_suspends, row.job_set_suspended, row.written);
            CHECK(decided(observed) == row.want);
            // Without the label, the note counts for nothing.
            observed.job_set->queue.clear();
            CHECK(decided(observed) == (row.job_suspends == row.job_set_suspended
                                            ? (row.job_suspends ? "run: update" : "run: leave")
                                            : (row.job_suspends ? "run: suspend, leave" : "run: resume")));
        }
    }
}

TEST_CASE("a JobSet in a queue that has a former number of nodes is resumed, to be made anew", "[decide]") {
    Observed observed = queued(false, true, false);
    observed.job->spec["trainer"]["numNodes"] = 3;
    observed.job_set->built_for_nodes = 2;
    CHECK(decided(observed) == "run: resume");
    observed.job_set->built_for_nodes = 3;
    CHECK(decided(observed) == "run: leave");
}

TEST_CASE("a JobSet is left to no queue if its TrainJob is in one", "[decide]") {
    Observed observed = queued(true, false, true);
    CHECK(is_left_to_queue(observed));
    observed.job->queue = "team";
    CHECK_FALSE(is_left_to_queue(observed));
    CHECK(decided(observed) == "run: suspend, leave");
}

TEST_CASE("deadlines count while Kueue runs the JobSet of a suspended TrainJob", "[decide]") {
    Observed observed = queued(true, false, true);
    observed.job->active_deadline_seconds = 60;
    SECTION("from the suspension") {
        CHECK(deadline(observed) == start + 60s);
        CHECK(time_left(observed, start + 61s) == 0s);
    }
    SECTION("from the creation of a TrainJob whose suspension is not stored yet") {
        observed.job->conditions.clear();
        CHECK(deadline(observed) == observed.job->meta.creation + 60s);
    }
    SECTION("not while the JobSet is suspended, or is still to be suspended") {
        observed.job_set->suspend = true;
        CHECK_FALSE(deadline(observed));
        observed.job_set->suspend = false;
        observed.job_set->written_suspend = false;
        CHECK_FALSE(deadline(observed));
    }
}

TEST_CASE("deadlines do not count while Kueue holds a JobSet, and count from the time that it runs",
          "[decide]") {
    Observed observed = queued(false, true, false);
    observed.job->active_deadline_seconds = 60;
    const auto says = [&](const char* status, api::Time at) {
        observed.job_set->suspended =
            api::Condition{.type = "Suspended", .status = status, .last_transition = at};
    };
    CHECK_FALSE(deadline(observed));
    says("True", start + 5s);
    observed.job_set->suspend = false;
    CHECK_FALSE(deadline(observed));  // JobSet's controller has still to resume it
    says("False", start + 500s);
    CHECK(deadline(observed) == start + 560s);
    CHECK(decided(observed) == "run: leave");
    SECTION("the TrainJob's own resume is later") {
        observed.job->conditions = {
            {.type = "Suspended", .status = "False", .last_transition = start + 600s}};
        CHECK(deadline(observed) == start + 660s);
    }
    SECTION("the TrainJob is in a queue, which suspends it and not the JobSet") {
        observed.job->queue = "team";
        CHECK(deadline(observed) == observed.job->meta.creation + 60s);
    }
    SECTION("it is gone: by its runtime, the next one will wait as well") {
        observed.job_set.reset();
        CHECK(deadline(observed) == observed.job->meta.creation + 60s);
        observed.queue_of_runtime = "team";
        CHECK_FALSE(deadline(observed));
    }
    SECTION("it was never suspended") {
        observed.job_set->suspended.reset();
        CHECK(deadline(observed) == observed.job->meta.creation + 60s);
    }
}

TEST_CASE("a JobSet of another owner, or of a TrainJob that is deleted, is in no queue of its own",
          "[decide]") {
    Observed observed = queued(true, false, true);
    SECTION("its TrainJob is deleted") {
        observed.job->meta.deletion = start;
        CHECK(decided(observed) == "run: leave, no build");
    }
    SECTION("another owner") {
        make_foreign(observed);
        CHECK(decided(observed) == "run: refuse, no build");
        CHECK(conclude_after(observed, 10s).retry_state.queue_reported == false);
    }
}

TEST_CASE("a job says once that Kueue holds its JobSet, and again the next time", "[conclude]") {
    Observed observed = queued(false, true, false);
    const Conclusion waiting = conclude_after(observed, 10s);
    REQUIRE(text(waiting.events) == "Normal WaitingForQueue");
    CHECK(waiting.events.front().note ==
          "Kueue has suspended the JobSet, and resumes it once it is admitted by the queue team");
    CHECK(text(waiting.conditions) == "Created=True/JobsCreationSucceeded");
    observed.retry_state = waiting.retry_state;
    CHECK(conclude_after(observed, 20s).events.empty());
    // Nothing has changed by a status that is not stored.
    CHECK(after_failed_status_write(waiting, observed, lost_connection, start + 20s)
              .retry_state.queue_reported);

    observed.job_set->suspend = false;
    observed.retry_state = conclude_after(observed, 30s).retry_state;
    CHECK_FALSE(observed.retry_state.queue_reported);
    observed.job_set->suspend = true;
    CHECK(text(conclude_after(observed, 40s).events) == "Normal WaitingForQueue");
}

TEST_CASE("a job warns that Kueue has resumed the JobSet of a suspended TrainJob", "[conclude]") {
    Observed observed = queued(true, false, true);
    observed.job->jobs_status = observed.job_set->replicated_jobs;
    const Conclusion conclusion = conclude_after(observed, 10s);
    REQUIRE(text(conclusion.events) == "Warning ResumedByQueue");
    CHECK_THAT(conclusion.events.front().note, Catch::Contains("set spec.active of its Workload to false"));
    CHECK(text(conclusion.conditions) == "Created=True/JobsCreationSucceeded Suspended=True/Suspended");
    observed.retry_state = conclusion.retry_state;
    CHECK(conclude_after(observed, 20s).events.empty());
}

}  // namespace lifecycle
