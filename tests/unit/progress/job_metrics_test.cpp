// Series of single TrainJobs, which --progress-job-metrics asks for.
#include "progress/job_metrics.hpp"

#include <catch2/catch.hpp>

#include "scheduling.hpp"

using namespace test;
using progress::JobMetrics;

namespace {

std::size_t series(const std::string& text, const std::string& name) {
    std::size_t count = 0;
    for (auto at = text.find("\n" + name + "{"); at != std::string::npos;
         at = text.find("\n" + name + "{", at + 1))
        ++count;
    return count;
}

}  // namespace

TEST_CASE("a job has its last percentage, remaining seconds and time of report", "[metrics]") {
    Plan plan;
    JobMetrics metrics(2);
    metrics.record(job, {.percentage = 41, .remaining_seconds = 60}, plan.now());
    plan.pass(1s);
    metrics.record(job, {.percentage = 42, .metrics = {{"loss", "1"}}}, plan.now());
    CHECK(
        metrics.expose(plan.steady) ==
        "# HELP signalbox_progress_job_percent Percentage that a TrainJob reported last.\n"
        "# TYPE signalbox_progress_job_percent gauge\n"
        "signalbox_progress_job_percent{namespace=\"ns\",name=\"job\"} 42\n"
        "# HELP signalbox_progress_job_remaining_seconds Seconds that were left by the last report.\n"
        "# TYPE signalbox_progress_job_remaining_seconds gauge\n"
        "# HELP signalbox_progress_job_reported_seconds Arrival of the last report, in seconds since 1970.\n"
        "# TYPE signalbox_progress_job_reported_seconds gauge\n"
        "signalbox_progress_job_reported_seconds{namespace=\"ns\",name=\"job\"} 1800000001\n");
}

TEST_CASE("the series of a job end five minutes after its last report", "[metrics]") {
    Plan plan;
    JobMetrics metrics(2);
    metrics.record(job, {.percentage = 1}, plan.now());
    plan.pass(JobMetrics::lasts);
    CHECK(series(metrics.expose(plan.steady), "signalbox_progress_job_percent") == 1);
    plan.pass(1ms);
    CHECK(series(metrics.expose(plan.steady), "signalbox_progress_job_percent") == 0);
}

TEST_CASE("only so many jobs have series, and a silent one makes room", "[metrics]") {
    Plan plan;
    JobMetrics metrics(3);
    for (int i = 0; i < 5; ++i) metrics.record(numbered(i), {.percentage = i}, plan.now());
    CHECK(series(metrics.expose(plan.steady), "signalbox_progress_job_reported_seconds") == 3);
    plan.pass(4min);
    metrics.record(numbered(0), {.percentage = 9}, plan.now());
    plan.pass(2min);
    metrics.record(numbered(4), {.percentage = 9}, plan.now());
    const std::string text = metrics.expose(plan.steady);
    CHECK(series(text, "signalbox_progress_job_reported_seconds") == 2);
    CHECK(text.find("name=\"job-4\"") != std::string::npos);
    JobMetrics none(0);
    none.record(job, {.percentage = 1}, plan.now());
    CHECK(series(none.expose(plan.steady), "signalbox_progress_job_reported_seconds") == 0);
}
