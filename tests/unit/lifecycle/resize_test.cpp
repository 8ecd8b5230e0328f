// A JobSet that an apply has set going with a number of nodes that its TrainJob does not have any more.
#include "concluding.hpp"

namespace lifecycle {
namespace {

Observed of_former_size() {
    Observed observed = running();
    observed.job->spec["trainer"]["numNodes"] = 3;
    observed.job_set->built_for_nodes = 2;
    return observed;
}

std::string decided(const Observed& observed) { return text(decide(observed, start + 10s)); }

}  // namespace

TEST_CASE("a JobSet that runs with a former number of nodes is suspended, on a live view", "[decide]") {
    const Observed observed = of_former_size();
    CHECK(decided(observed) == "run: leave, resizes");
    CHECK(needs_live(decide(observed, start + 10s), observed) == Live::all);
}

TEST_CASE("a JobSet stays unless it is known to run with another number of nodes", "[decide]") {
    Observed observed = of_former_size();
    std::string want = "run: leave";
    SECTION("the same number") { observed.job_set->built_for_nodes = 3; }
    SECTION("the runtime's number") {
        observed.job->spec = api::Json();
        observed.job_set->built_for_nodes = api::nodes_of_runtime;
    }
    SECTION("Kubeflow Trainer made it") { observed.job_set->built_for_nodes.reset(); }
    SECTION("it is being deleted") {
        observed.job_set->meta.deletion = start;
        want = "run: wait until gone";
    }
    SECTION("its TrainJob is being deleted") {
        observed.job->meta.deletion = start;
        want = "run: leave, no build";
    }
    SECTION("its TrainJob is suspended") {
        observed.job->suspend = true;
        observed.job->conditions.push_back(condition("Suspended", "True", "Suspended"));
        want = "run: suspend, leave";
    }
    SECTION("it is suspended already") {
        observed.job_set->suspend = true;
        want = "run: resume";
    }
    SECTION("it belongs to another owner") {
        make_foreign(observed);
        want = "run: refuse, no build";
    }
    SECTION("it has ended") {
        observed.job_set->finished = condition("Completed", "True", "AllJobsCompleted");
        want = "finish Complete/AllJobsCompleted";
    }
    CHECK(decided(observed) == want);
}

TEST_CASE("a job says once why its JobSet keeps a former number of nodes", "[conclude]") {
    Observed observed = of_former_size();
    const Outcome outcome = {.kept = JobSetKept{"a new one would delete its volume claims", true}};
    const Conclusion conclusion = conclude_after(observed, 10s, outcome);
    REQUIRE(text(conclusion.events) == "Warning JobSetKept");
    CHECK(conclusion.events.front().note ==
          "The JobSet runs with another number of nodes than spec.trainer.numNodes: a new one would delete "
          "its volume claims");
    CHECK(text(conclusion.conditions) == "Created=True/JobsCreationSucceeded");
    CHECK_FALSE(conclusion.requeue_after);

    observed.retry_state = conclusion.retry_state;
    const Conclusion again = conclude_after(observed, 20s, outcome);
    CHECK(again.events.empty());
    CHECK(again.retry_state == conclusion.retry_state);
    // Nothing has changed by a reconcile that has failed, or by a status that is not stored.
    CHECK(conclude_after(observed, 20s, refused(lost_connection)).retry_state.kept_reported);
    CHECK(conclude_after(observed, 20s, {.result = ReadFailed{"JobSet", lost_connection}})
              .retry_state.kept_reported);
    CHECK(after_failed_status_write(again, observed, lost_connection, start + 20s).retry_state.kept_reported);

    observed.retry_state = conclude_after(observed, 30s).retry_state;
    CHECK_FALSE(observed.retry_state.kept_reported);
    CHECK(text(conclude_after(observed, 40s, outcome).events) == "Warning JobSetKept");
}

TEST_CASE("a new JobSet that is refused is tried again with backoff", "[conclude]") {
    Observed observed = of_former_size();
    const Outcome outcome = {.kept = JobSetKept{"JobSet default/job: too many", false}};
    for (const auto wait : {1s, 2s, 4s}) {
        const Conclusion conclusion = conclude_after(observed, 10s + wait, outcome);
        CHECK(conclusion.requeue_after == wait);
        CHECK(conclusion.events.size() == (wait == 1s ? 1U : 0U));
        CHECK(text(conclusion.conditions) == "Created=True/JobsCreationSucceeded");
        observed.retry_state = conclusion.retry_state;
    }
}

TEST_CASE("a first JobSet that is not built anew for a correction is followed, and says why", "[conclude]") {
    Observed observed = running();
    observed.job->conditions = {condition("Created", "False", "JobsCreationFailed")};
    observed.job->jobs_status.clear();
    REQUIRE(std::get<Run>(decide(observed, start + 10s)).verifies);
    const Conclusion conclusion =
        conclude_after(observed, 10s, {.kept = JobSetKept{"a new one would delete its volume claims", true}});
    CHECK(get(conclusion, "Created").status == "True");
    CHECK(conclusion.jobs_status == observed.job_set->replicated_jobs);
    REQUIRE(text(conclusion.events) == "Normal JobsCreationSucceeded, Warning JobSetKept");
    CHECK(conclusion.events.back().note ==
          "The JobSet was created from what has been corrected since: a new one would delete its volume "
          "claims");
}

}  // namespace lifecycle
