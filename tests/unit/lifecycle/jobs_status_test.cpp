#include "lifecycle/jobs_status.hpp"

#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {

TEST_CASE("jobsStatus follows the JobSet", "[jobs_status]") {
    Observed observed = running();
    SECTION("in its order") {
        observed.job_set->replicated_jobs = {
            {.name = "node", .ready = 1, .succeeded = 2, .failed = 3, .active = 4, .suspended = 5},
            {.name = "launcher"}};
        CHECK(jobs_status(observed) == observed.job_set->replicated_jobs);
    }
    SECTION("a new JobSet has no counts yet") {
        observed.job_set->replicated_jobs.clear();
        CHECK(text(jobs_status(observed)) == "node:");
    }
    SECTION("jobs that succeeded in an earlier attempt, and that the JobSet lacks, stay first") {
        observed.job->jobs_status = {
            {.name = "node", .failed = 1}, {.name = "init", .succeeded = 1}, {.name = "old", .succeeded = 1}};
        observed.job_set->finished_jobs = {"init", "never-counted"};
        observed.job_set->replicated_jobs = {{.name = "node", .active = 1}};
        CHECK(text(jobs_status(observed)) == "init: 1 succeeded node: 1 active");
    }
    SECTION("without a JobSet nothing is active") {
        observed.job->jobs_status = {
            {.name = "node", .ready = 1, .succeeded = 2, .failed = 3, .active = 4, .suspended = 5}};
        observed.job_set.reset();
        CHECK(text(jobs_status(observed)) == "node: 2 succeeded 3 failed");
    }
    SECTION("another owner's JobSet does not count") {
        make_foreign(observed);
        CHECK(text(jobs_status(observed)) == "node:");
    }
    SECTION("only what can be stored") {
        observed.job_set->replicated_jobs.assign(150, {.name = "node"});
        CHECK(jobs_status(observed).size() == 1);
        observed.job_set->replicated_jobs = {{.name = ""}};
        CHECK(jobs_status(observed).empty());
        for (int i = 0; i < 150; ++i)
            observed.job_set->replicated_jobs.push_back({.name = std::to_string(i)});
        CHECK(jobs_status(observed).size() == 100);
    }
}

TEST_CASE("a job that never had a JobSet has no jobsStatus", "[jobs_status]") {
    CHECK(jobs_status(submitted()).empty());
}

}  // namespace lifecycle
