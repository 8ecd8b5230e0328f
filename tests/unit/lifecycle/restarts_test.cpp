#include "lifecycle/restarts.hpp"

#include "concluding.hpp"

namespace lifecycle {
namespace {

// Restarted twice in all; one of them counts.
Observed restarted() {
    Observed observed = running();
    observed.job->restarts = {.all = 1, .counted = 1};
    observed.job_set->restarts_before = {.all = 1, .counted = 1};
    observed.job_set->restarts = {.all = 2, .counted = 1};
    observed.job_set->max_restarts = 2;
    observed.job_set->restart_message = "node-0 failed";
    return observed;
}

}  // namespace

TEST_CASE("the status counts the restarts of all JobSets, and each new one is a warning", "[restarts]") {
    Observed observed = restarted();
    Conclusion conclusion = conclude_after(observed, 10s);
    CHECK(conclusion.restarts == api::Restarts{.all = 2, .counted = 1});
    CHECK(conclusion.status_changed);
    CHECK(api::to_json(status_patch(*observed.job, conclusion)) == R"({"status":{"restarts":2}})");
    REQUIRE(conclusion.events.size() == 1);
    CHECK(conclusion.events[0].type == EventType::warning);
    CHECK(conclusion.events[0].reason == "TrainJobRestarted");
    CHECK(conclusion.events[0].note == "restart 2, 1 of 3 counted: node-0 failed");
    CHECK(conclusion.events[0].needs_status);

    observed.job->restarts = conclusion.restarts;
    conclusion = conclude_after(observed, 11s);
    CHECK_FALSE(conclusion.status_changed);
    CHECK(conclusion.events.empty());
}

TEST_CASE("a restart of which nothing else is known is reported all the same", "[restarts]") {
    Observed observed = restarted();
    observed.job_set->max_restarts.reset();
    observed.job_set->restart_message.clear();
    CHECK(conclude_after(observed, 10s).events.at(0).note == "restart 2, 1 counted");
}

TEST_CASE("a new JobSet begins with the restarts before it, and one that is there keeps its own",
          "[restarts]") {
    Observed observed = restarted();
    CHECK(restarts_before(observed) == api::Restarts{.all = 1, .counted = 1});
    observed.job->restarts = {.all = 2, .counted = 1};
    observed.job_set.reset();
    CHECK(restarts_before(observed) == api::Restarts{.all = 2, .counted = 1});
    CHECK(conclude_after(observed, 10s).restarts == api::Restarts{.all = 2, .counted = 1});
}

TEST_CASE("a JobSet that may be replaced has its restarts stored before", "[restarts]") {
    Observed observed = suspended();
    CHECK(std::holds_alternative<Run>(decide(observed, start + 10s)));
    observed.job_set->restarts = {.all = 1, .counted = 1};
    CHECK(std::holds_alternative<StoreTransition>(decide(observed, start + 10s)));
    const Conclusion conclusion = conclude_after(observed, 10s);
    CHECK(conclusion.restarts == api::Restarts{.all = 1, .counted = 1});
    CHECK(conclusion.decide_again);
    observed.job->restarts = conclusion.restarts;
    CHECK(std::holds_alternative<Run>(decide(observed, start + 10s)));

    Observed runs = restarted();
    CHECK(std::holds_alternative<Run>(decide(runs, start + 10s)));
}

TEST_CASE("a restart does not begin the deadline anew", "[restarts]") {
    const Observed observed = with_deadline(restarted(), 60s);
    const Conclusion conclusion = conclude_after(observed, 59s);
    CHECK(conclusion.restarts.all == 2);
    CHECK(conclusion.start_time == start);
    CHECK(conclusion.requeue_after == 1s);
    CHECK(std::holds_alternative<Finish>(decide(observed, start + 60s)));
}

TEST_CASE("a JobSet of another owner has no restarts of this TrainJob", "[restarts]") {
    Observed observed = restarted();
    make_foreign(observed);
    CHECK(restarts(observed) == api::Restarts{.all = 1, .counted = 1});
    CHECK(restarts_before(observed) == api::Restarts{.all = 1, .counted = 1});
}

TEST_CASE("a restart and the end of the job are one write", "[restarts]") {
    Observed observed = restarted();
    observed.job_set->finished =
        condition("Failed", "True", "ReachedMaxRestarts", start + 30s, "jobset failed");
    const Conclusion conclusion = conclude_after(observed, 31s);
    CHECK(conclusion.restarts.all == 2);
    CHECK(get(conclusion, "Failed").reason == "ReachedMaxRestarts");
}

TEST_CASE("restarts are taken back on a live view alone: a JobSet that is gone cannot tell them again",
          "[restarts]") {
    Observed observed = restarted();
    CHECK(needs_live(decide(observed, start + 10s), observed) == Live::nothing);
    const auto said = GENERATE(api::Restarts{.all = 3, .counted = 1}, api::Restarts{.all = 2, .counted = 2});
    observed.job->restarts = said;
    CHECK(takes_back_restarts(observed));
    CHECK(needs_live(decide(observed, start + 10s), observed) == Live::in_order);
    // The view that would tell cannot be had.
    const Outcome unread = {.result = ReadFailed{"TrainJob default/job", lost_connection}};
    CHECK(conclude_after(observed, 10s, unread).restarts == said);
    observed.job_set.reset();
    CHECK_FALSE(takes_back_restarts(observed));
    CHECK(conclude_after(observed, 10s).restarts == said);
}

TEST_CASE("without a look, nothing is stored of an earlier JobSet of a job that has ended", "[restarts]") {
    Observed observed = running();
    observed.job->restarts = {.all = 1, .counted = 1};
    observed.job->jobs_status = {{.name = "node", .succeeded = 1}};
    observed.job->conditions = {condition("Complete", "True", "AllJobsCompleted")};
    observed.job_set->replicated_jobs = {{.name = "node", .active = 1}};
    const Outcome unread = {.result = ReadFailed{"TrainJob default/job", lost_connection}};
    const Conclusion conclusion = conclude_after(observed, 10s, unread);
    CHECK(conclusion.restarts == observed.job->restarts);
    CHECK(conclusion.jobs_status == observed.job->jobs_status);
}

TEST_CASE("forged numbers of restarts are put right", "[restarts]") {
    Observed observed = restarted();
    observed.job->restarts = {.all = 700, .counted = 700};
    const Conclusion conclusion = conclude_after(observed, 10s);
    CHECK(api::to_json(status_patch(*observed.job, conclusion)) ==
          R"({"status":{"restarts":2,"restartsCountTowardsMax":1}})");
    CHECK(conclusion.events.empty());
}

}  // namespace lifecycle
