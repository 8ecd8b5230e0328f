// Reports of progress, the Lease of their server, and what follows from both.
#include "acts.hpp"
#include "kube/client/request.hpp"
#include "progress/availability.hpp"
#include "scenario_lists.hpp"

namespace model {
namespace {

using namespace ends;

const char* const stalled = "+JobsCreationSucceeded +ProgressDeadlineExceeded; running; snapshot; 1 active";
const char* const failed = "+JobsCreationSucceeded +ProgressDeadlineExceeded; no JobSet; snapshot; 0 active";
// The write of the condition was on its way as the JobSet finished, which then stays.
const char* const failed_as_it_finished =
    "+JobsCreationSucceeded +ProgressDeadlineExceeded; finished; snapshot; 0 active";
const char* const failed_before_it_began = "+ProgressDeadlineExceeded; no JobSet; snapshot; 0 active";
const char* const failed_before_anything = "+ProgressDeadlineExceeded; no JobSet; no snapshot; 0 active";

// The annotations of the progress deadline.
Tweak limited(const char* action, const char* seconds = "60") {
    return [=](Json& job) {
        Json& annotations = job["metadata"]["annotations"];
        annotations[api::progress_seconds_annotation] = seconds;
        annotations[api::progress_action_annotation] = action;
    };
}

// A report with progress, as its server stores it.
Action report(int percentage = 10) {
    return [percentage](World& world) {
        const std::string now = api::format_time(world.time.wall_seconds());
        Json patch;
        patch["status"]["trainerStatus"] = Json::object(
            {{"progressPercentage", percentage}, {"lastUpdatedTime", now}, {"lastProgressTime", now}});
        world.as_user(kube::merge_patch_status(train_jobs, the_job, patch, kube::Unconditional()),
                      "trainer-status");
    };
}

void renew(World& world) {
    const Stored* stored = world.api.find("leases.coordination.k8s.io", World::reports_lease);
    const auto write =
        progress::renewal(World::reports_lease, stored ? stored->object : Json(), false, world.time.wall());
    if (write) world.as_user(*write);
}

// The server of reports works for that time.
Action serve_reports(std::chrono::seconds time) {
    return [time](World& world) {
        for (auto at = 0s; at < time; at += progress::availability_renewed_every)
            world.time.after(at, [&world] { renew(world); });
    };
}

// With progress every half a minute.
std::vector<Scenario::Step> reports(std::chrono::seconds from, std::chrono::seconds to) {
    std::vector<Scenario::Step> steps;
    for (auto at = from; at <= to; at += 30s) steps.push_back({at, report(static_cast<int>(at / 10s))});
    return steps;
}

std::vector<Scenario::Step> all_of_steps(std::vector<Scenario::Step> first,
                                         std::vector<Scenario::Step> second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

std::vector<Scenario::Step> begin(const char* action, std::chrono::seconds served = 700s) {
    return {{1s, make_runtime()},
            {1s, serve_reports(served)},
            {2s, make_job(with(pods_that("never")), limited(action))}};
}

}  // namespace

std::vector<Scenario> progress_deadlines() {
    const std::vector<std::string> failed_ends = {failed, failed_before_it_began, failed_before_anything};
    return {
        {"a job without progress is stalled",
         all_of_steps(begin("Warn"), {{20s, report()}}),
         {stalled},
         {"JobsCreationSucceeded", "ProgressDeadlineExceeded"}},
        {"a job without progress fails",
         all_of_steps(begin("Fail"), {{20s, report()}}),
         failed_ends,
         {"JobSetDeleted", "JobsCreationSucceeded", "ProgressDeadlineExceeded"}},
        {"a stalled job makes progress again",
         all_of_steps(all_of_steps(begin("Warn"), {{20s, report()}}), reports(200s, 900s)),
         {running},
         {"JobsCreationSucceeded", "ProgressDeadlineExceeded", "ProgressResumed"}},
        {"a stalled job is to fail",
         all_of_steps(begin("Warn"), {{20s, report()}, {200s, change_job(limited("Fail"))}}),
         failed_ends,
         {"JobSetDeleted", "JobsCreationSucceeded", "ProgressDeadlineExceeded"}},
        {"the limit of a stalled job goes",
         all_of_steps(begin("Warn"),
                      {{20s, report()},
                       {200s, change_job(R"({"metadata":{"annotations":{"trainer.kubeflow.org/)"
                                         R"(progress-deadline-seconds":"100000"}}})")}}),
         {running},
         {"JobsCreationSucceeded", "ProgressDeadlineExceeded"}},
        {"a job makes progress all the time",
         all_of_steps(begin("Fail"), reports(20s, 900s)),
         {running},
         {"JobsCreationSucceeded"}},
        {"a job reports nothing", begin("Fail"), {running}, {"JobsCreationSucceeded"}},
        {"there is no server of reports any more",
         all_of_steps(begin("Fail", 0s), {{20s, report()}}),
         {running},
         {"JobsCreationSucceeded"}},
        {"the server of reports is away, and progress goes on",
         all_of_steps(all_of_steps(begin("Fail", 100s), {{300s, serve_reports(400s)}}),
                      all_of_steps(reports(20s, 90s), reports(310s, 900s))),
         {running},
         {"JobsCreationSucceeded"}},
        {"the server of reports is away, and progress does not go on",
         all_of_steps(all_of_steps(begin("Fail", 100s), {{300s, serve_reports(400s)}}), reports(20s, 90s)),
         failed_ends,
         {"JobSetDeleted", "JobsCreationSucceeded", "ProgressDeadlineExceeded"},
         900s},
        {"a job is resumed and reports nothing",
         all_of_steps(begin("Fail"), {{20s, report()},
                                      {60s, change_job(R"({"spec":{"suspend":true}})")},
                                      {200s, change_job(R"({"spec":{"suspend":false}})")}}),
         // The suspension is over before a reconciler sees it.
         {resumed_and_running, running, failed, failed_before_it_began, failed_before_anything},
         {"JobsCreationSucceeded", "Resumed", "Suspended"}},
        {"a job reports nothing while it waits for its next attempt, nor soon after",
         {{1s, make_runtime(
                   run_policy(R"({"failurePolicy":{"maxRestarts":1,"backoff":{"initialSeconds":200}}})"))},
          {1s, serve_reports(900s)},
          {2s, make_job(with(pods_that("90", "failed-once")), limited("Fail"))},
          {60s, report()},
          {80s, report(20)}},
         {completed},
         {"AllJobsCompleted", "JobsCreationSucceeded", "TrainJobRestarted", "WaitingForDeletion"},
         900s},
        {"a job has finished as its progress deadline passes",
         {{1s, make_runtime()},
          {1s, serve_reports(700s)},
          {2s, make_job(with(pods_that("130")), limited("Fail"))},
          {20s, report()}},
         {completed, failed, failed_as_it_finished, failed_before_it_began, failed_before_anything},
         {"AllJobsCompleted", "JobsCreationSucceeded"}},
    };
}

}  // namespace model
