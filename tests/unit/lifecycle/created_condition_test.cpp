#include "concluding.hpp"

namespace lifecycle {

TEST_CASE("with on-failure Created is never True", "[conclude]") {
    const Options on_failure = {CreatedCondition::on_failure};
    Observed refused_before = submitted();
    refused_before.job->conditions = {condition("Created", "False", "JobsCreationFailed")};
    for (const Observed& observed : {submitted(), refused_before}) {
        INFO(text(observed.job->conditions));
        CHECK(text(conclude_after(observed, 10s, {.job_set_written = true}, on_failure).conditions).empty());
        CHECK(text(conclude_after(observed, 10s, build_failed(), on_failure).conditions) ==
              "Created=False/JobsBuildFailed");
    }
    CHECK(text(conclude_after(running(), 10s, {}, on_failure).conditions).empty());
    CHECK(text(conclude_after(suspended(), 10s, {}, on_failure).conditions) == "Suspended=True/Suspended");
}

TEST_CASE("while the JobSet is being created Created is neither False nor True, and no event tells of it",
          "[conclude]") {
    Observed observed = submitted();
    observed.job->conditions = {condition("Created", "False", "JobsCreationFailed")};
    REQUIRE(api::may_be_corrected(*observed.job));
    const Conclusion conclusion = conclude_after(observed, 10s, {.result = ReadyToCreate{}});
    CHECK(text(conclusion.conditions) == "Created=Unknown/JobsCreating");
    CHECK(conclusion.status_changed);
    CHECK(conclusion.decide_again);
    CHECK(conclusion.events.empty());
    observed.job->conditions = conclusion.conditions;
    CHECK_FALSE(api::may_be_corrected(*observed.job));
    CHECK(text(conclude_after(observed, 11s, {.job_set_written = true}).conditions) ==
          "Created=True/JobsCreationSucceeded");
    CHECK(text(conclude_after(observed, 11s, refused(server_error(403, "exceeded quota"))).conditions) ==
          "Created=False/JobsCreationFailed");
    CHECK(text(conclude_after(observed, 11s, refused(lost_connection)).conditions) ==
          "Created=Unknown/JobsCreating");
}

TEST_CASE("a TrainJob may be corrected while Created is False and it never had a JobSet", "[conclude]") {
    Observed observed = submitted();
    CHECK_FALSE(api::may_be_corrected(*observed.job));
    observed.job->conditions = {condition("Created", "False", "JobsBuildFailed")};
    CHECK(api::may_be_corrected(*observed.job));
    observed.job->jobs_status = {{.name = "node"}};
    CHECK_FALSE(api::may_be_corrected(*observed.job));
    CHECK_FALSE(api::may_be_corrected(*running().job));
}

TEST_CASE("a job that ends after its JobSet was created says nothing of its creation", "[conclude]") {
    Observed observed = with_deadline(running());
    observed.job->conditions = {condition("Created", "Unknown", "JobsCreating")};
    CHECK(text(conclude_after(observed, 61s).conditions) == "Failed=True/DeadlineExceeded");
}

TEST_CASE("a running JobSet that no status knows is compared with its TrainJob before its counts are taken",
          "[conclude]") {
    const auto [status, reason] =
        GENERATE(std::pair("False", "JobsCreationFailed"),
                 // A later attempt had no verdict, or a crash came after it.
                 std::pair("Unknown", "JobsCreationRetrying"), std::pair("Unknown", "JobsCreating"));
    Observed observed = running();
    observed.job->conditions = {condition("Created", status, reason)};
    observed.job->jobs_status.clear();
    observed.job->runtime_digest.clear();
    const Decision decision = decide(observed, start + 10s);
    CHECK(std::get<Run>(decision).verifies);
    CHECK(needs_live(decision, observed) == Live::all);
    const Outcome not_yet[] = {refused(lost_connection, Write::remove),
                               {.result = ReadFailed{"ConfigMap default/x", lost_connection}},
                               {.result = JobSetRemoved{"it was created from what was corrected"}}};
    for (const Outcome& outcome : not_yet) {
        const Conclusion conclusion = conclude_after(observed, 10s, outcome);
        CHECK(text(conclusion.conditions) == text(observed.job->conditions));
        CHECK(conclusion.jobs_status.empty());
        // No watch may ever tell that the JobSet is gone: the caches may not have had it.
        CHECK(conclusion.requeue_after);
    }
    const Conclusion same = conclude_after(observed, 10s);
    CHECK(text(same.conditions) == "Created=True/JobsCreationSucceeded");
    CHECK(same.jobs_status == observed.job_set->replicated_jobs);
}

// It may have been suspended, resized and resumed while the request for its JobSet was on its way.
TEST_CASE("the first JobSet of a job whose spec has changed since is compared with it", "[conclude]") {
    const auto [generation, verifies] = GENERATE(std::pair(1, false), std::pair(4, true));
    Observed observed = running();
    observed.job->conditions.clear();
    observed.job->jobs_status.clear();
    observed.job->meta.generation = generation;
    CHECK(std::get<Run>(decide(observed, start + 10s)).verifies == verifies);
    observed.job->jobs_status = observed.job_set->replicated_jobs;
    CHECK_FALSE(std::get<Run>(decide(observed, start + 10s)).verifies);
}

}  // namespace lifecycle
