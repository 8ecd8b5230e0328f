// Times to live and deadlines that change, and whose they are.
#include "acts.hpp"
#include "scenario_lists.hpp"

namespace model {
namespace {

using namespace ends;

Action set_ttl(const std::string& seconds) {
    return change_job(R"({"spec":{"ttlSecondsAfterFinished":)" + seconds + "}}");
}
Action set_policy(const std::string& policy) {
    return change_runtime(R"({"spec":{"runPolicy":)" + policy + "}}");
}

const std::string short_ttl = R"({"ttlSecondsAfterFinished":20})";
const std::string long_ttl = R"({"ttlSecondsAfterFinished":100000})";

// The start is that of a job that was never suspended.
std::string has_its_times(const World& world) {
    const Stored* stored = world.api.find("trainjobs.trainer.kubeflow.org", the_job);
    if (!stored) return "";
    const api::TrainJob job = api::parse_train_job(stored->object);
    const api::Condition* ended = api::terminal_condition(job);
    if (job.start_time != job.meta.creation) return "it has another start";
    return ended && job.completion_time == ended->last_transition ? "" : "it has another end";
}

std::vector<Scenario> ttls() {
    return {
        // One that begins late begins with the short one.
        {"the TTL shrinks after the end",
         {{1s, make_runtime(ttl(100000))},
          {2s, make_job()},
          {30s, change_runtime(R"({"spec":{"ttlSecondsAfterFinished":60}})")}},
         {completed, gone},
         {"AllJobsCompleted", "JobsCreationSucceeded"}},
        {"a runtime gets a TTL after the end",
         {{1s, make_runtime()}, {2s, make_job()}, {30s, set_policy(short_ttl)}},
         {completed, gone},
         {"AllJobsCompleted", "JobsCreationSucceeded"}},
        {"a runtime's TTL changes while its job runs",
         {{1s, make_runtime(run_policy(R"({"ttlSecondsAfterFinished":60})"))},
          {2s, make_job(with(pods_that("30")))},
          {20s, set_policy(short_ttl)}},
         {gone},
         {"AllJobsCompleted", "JobsCreationSucceeded", "TTLExpired"}},
        {"a longer TTL goes with its runtime",
         {{1s, make_runtime(run_policy(short_ttl))},
          {2s, make_job()},
          {12s, set_policy(long_ttl)},
          {60s, remove_runtime()}},
         {gone, no_runtime, unvouched, completed},
         {"AllJobsCompleted", "JobsCreationSucceeded", "TTLExpired"}},
        {"a job's own TTL is shorter than its runtime's",
         {{1s, make_runtime(run_policy(long_ttl))}, {2s, make_job(set("ttlSecondsAfterFinished", "30"))}},
         {gone},
         {"AllJobsCompleted", "JobsCreationSucceeded", "TTLExpired"}},
        {"a job's own TTL is longer than its runtime's",
         {{1s, make_runtime(run_policy(short_ttl))},
          {2s, make_job(set("ttlSecondsAfterFinished", "100000"))}},
         {completed},
         {"AllJobsCompleted", "JobsCreationSucceeded"}},
        {"a job gets its own TTL after the end",
         {{1s, make_runtime()}, {2s, make_job()}, {60s, set_ttl("30")}},
         {gone},
         {"AllJobsCompleted", "JobsCreationSucceeded", "TTLExpired"}},
        {"a job loses its own TTL",
         {{1s, make_runtime()}, {2s, make_job(set("ttlSecondsAfterFinished", "60"))}, {30s, set_ttl("null")}},
         {completed},
         {"AllJobsCompleted", "JobsCreationSucceeded"}},
        {"a job gets a longer TTL as its own passes",
         {{1s, make_runtime()},
          {2s, make_job(set("ttlSecondsAfterFinished", "30"))},
          {37s, set_ttl("100000")}},
         {completed, gone},
         {"AllJobsCompleted", "JobsCreationSucceeded"}},
        {"a job begins with another TTL than its first status tells",
         {{1s, make_runtime(run_policy(long_ttl))},
          {1s, fail_webhook_of("JobSet")},
          {2s, make_job()},
          {40s, set_policy(short_ttl)},
          {60s, fail_nothing()}},
         {gone},
         {"AllJobsCompleted", "JobsCreationSucceeded", "ReconcileError", "TTLExpired"},
         900s},
        {"a runtime has a longer TTL for a while, in which it cannot be read",
         {{1s, make_runtime(run_policy(R"({"ttlSecondsAfterFinished":60})"))},
          {2s, make_job()},
          {25s, both(set_policy(long_ttl),
                     fail_reads("clustertrainingruntimes.trainer.kubeflow.org", "etcdserver: no leader"))},
          {90s, fail_nothing()},
          {120s, set_policy(short_ttl)}},
         {gone, completed},
         {"AllJobsCompleted", "JobsCreationSucceeded", "TTLExpired"}},
        {"a job that MultiKueue dispatches has its own TTL",
         {{1s, make_runtime(run_policy(R"({"ttlSecondsAfterFinished":1})"))},
          {2s, make_job(set("managedBy", R"("kueue.x-k8s.io/multikueue")"),
                        set("ttlSecondsAfterFinished", "30"))},
          {40s, complete_elsewhere()}},
         {gone},
         {"TTLExpired"}},
        {"a job that MultiKueue dispatches outlives its runtime's TTL",
         {{1s, make_runtime(run_policy(R"({"ttlSecondsAfterFinished":1})"))},
          {2s, make_job(set("managedBy", R"("kueue.x-k8s.io/multikueue")"))},
          {20s, complete_elsewhere()},
          {40s, remove_runtime()}},
         {"+AllJobsCompleted; no JobSet; no snapshot; 0 active"},
         {}},
    };
}

std::vector<Scenario> deadlines() {
    const char* const short_deadline = R"({"activeDeadlineSeconds":40})";
    const char* const long_deadline = R"({"activeDeadlineSeconds":100000})";
    const std::vector<std::string> overdue_ends = {overdue, overdue_before_anything};
    return {
        {"the default deadline of a runtime passes",
         {{1s, make_runtime(run_policy(short_deadline))}, {2s, make_job(with(pods_that("never")))}},
         overdue_ends,
         {"DeadlineExceeded", "JobSetDeleted", "JobsCreationSucceeded"}},
        {"the maximum deadline of a runtime passes",
         {{1s, make_runtime(run_policy(R"({"maxActiveDeadlineSeconds":40})"))},
          {2s, make_job(with(pods_that("never")), set("activeDeadlineSeconds", "100000"))}},
         overdue_ends,
         {"DeadlineExceeded", "JobSetDeleted", "JobsCreationSucceeded"}},
        {"the deadline of a runtime shrinks after its job began",
         {{1s, make_runtime(run_policy(long_deadline))},
          {2s, make_job(with(pods_that("never")))},
          {20s, set_policy(short_deadline)}},
         {running, overdue, overdue_before_anything},
         {"JobsCreationSucceeded"}},
        {"the deadline of a runtime grows after its job began",
         {{1s, make_runtime(run_policy(short_deadline))},
          {2s, make_job(with(pods_that("never")))},
          {20s, set_policy(long_deadline)}},
         {overdue, running},
         {"DeadlineExceeded", "JobSetDeleted", "JobsCreationSucceeded"}},
        {"a job with the deadline of its runtime is resumed",
         {{1s, make_runtime(run_policy(R"({"activeDeadlineSeconds":60})"))},
          {2s, make_job(with(pods_that("never")))},
          {30s, change_job(R"({"spec":{"suspend":true}})")},
          {100s, change_job(R"({"spec":{"suspend":false}})")}},
         {"-Resumed +DeadlineExceeded; no JobSet; snapshot; 0 active", overdue,
          "-Resumed +DeadlineExceeded; no JobSet; no snapshot; 0 active", overdue_before_anything},
         {"DeadlineExceeded", "JobSetDeleted", "JobsCreationSucceeded", "Resumed", "Suspended"},
         900s},
        {"others write the times of a running job",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")), set("activeDeadlineSeconds", "60"))},
          {20s,
           set_status(R"({"startTime":"2001-01-01T00:00:00Z","completionTime":"2001-01-01T00:00:00Z"})")}},
         overdue_ends,
         {"DeadlineExceeded", "JobSetDeleted", "JobsCreationSucceeded"},
         600s,
         has_its_times},
    };
}

}  // namespace

std::vector<Scenario> run_policies() {
    std::vector<Scenario> all = ttls();
    for (Scenario& each : deadlines()) all.push_back(std::move(each));
    return all;
}

}  // namespace model
