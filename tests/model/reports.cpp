// Reports of progress, the Lease of their server, and what follows from both.
#include <algorithm>

#include "acts.hpp"
#include "api/job_set.hpp"
#include "kube/client/request.hpp"
#include "progress/availability.hpp"
#include "scenario_lists.hpp"

namespace model {
namespace {

using namespace ends;

const char* const stalled = "+JobsCreationSucceeded +ProgressDeadlineExceeded; running; snapshot; 1 active";
const char* const failed = "+ProgressDeadlineExceeded; no JobSet; snapshot; 0 active";
// The write of the condition was on its way as the JobSet finished, which then stays.
const char* const failed_as_it_finished = "+ProgressDeadlineExceeded; finished; snapshot; 0 active";
const char* const failed_before_anything = "+ProgressDeadlineExceeded; no JobSet; no snapshot; 0 active";

// The annotations of the progress deadline.
Tweak limited(const char* action, const char* seconds = "60") {
    return [=](Json& job) {
        Json& annotations = job["metadata"]["annotations"];
        annotations[api::progress_seconds_annotation] = seconds;
        annotations[api::progress_action_annotation] = action;
    };
}

// That of the start deadline.
Tweak limited_start(const char* action) {
    return [=](Json& job) {
        Json& annotations = job["metadata"]["annotations"];
        annotations[api::start_seconds_annotation] = "60";
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

std::vector<Scenario::Step> begin(Action runtime, Tweak limits, std::chrono::seconds served = 700s) {
    return {{1s, std::move(runtime)},
            {1s, serve_reports(served)},
            {2s, make_job(with(pods_that("never")), std::move(limits))}};
}

std::vector<Scenario::Step> begin(const char* action, std::chrono::seconds served = 700s) {
    return begin(make_runtime(), limited(action), served);
}

Action policy(const char* text = R"({"maxRestarts":1})") {
    return make_runtime(run_policy(std::string(R"({"failurePolicy":)") + text + "}"));
}

const char* const with_a_minute = R"({"maxRestarts":1,"backoff":{"initialSeconds":60}})";

// What runs, if anything, is the attempt that the status tells of, and the status has an entry for each
// attempt that was restarted.
Check tells_of_attempts(bool may_have_completed = false) {
    return [=](const World& world) -> std::string {
        const Stored* stored = world.api.find("trainjobs.trainer.kubeflow.org", the_job);
        if (!stored) return "";
        const api::TrainJob job = api::parse_train_job(stored->object);
        const auto told = std::count_if(job.failures.begin(), job.failures.end(), [](const auto& each) {
            return each.decision == api::FailureDecision::restart;
        });
        if (told != job.restarts.all || job.restarts.counted != job.restarts.all)
            return "its restarts are " + api::restarts_before_text(job.restarts) + ", and it tells of " +
                   std::to_string(told);
        const Stored* set = world.api.find("jobsets.jobset.x-k8s.io", the_job);
        const auto attempt = set ? api::parse_job_set(set->object).restarts.all : job.restarts.all;
        return attempt == job.restarts.all || may_have_completed
                   ? ""
                   : "its JobSet is attempt " + std::to_string(attempt);
    };
}

// Unless something fails, it has those restarts.
Scenario with_restarts(Scenario scenario, const char* want) {
    scenario.when_unharmed = restarted(want);
    if (!scenario.check) scenario.check = tells_of_attempts();
    return scenario;
}

const std::vector<std::string> restarts_and_runs = {"JobsCreationSucceeded", "TrainJobRestarted",
                                                    "WaitingForDeletion"};

std::vector<Scenario> start_deadlines() {
    const char* const failed_later = "-Resumed +ProgressDeadlineExceeded; no JobSet; snapshot; 0 active";
    const std::vector<std::string> fails = {"JobSetDeleted", "JobsCreationSucceeded",
                                            "ProgressDeadlineExceeded"};
    return {
        {"a job starts and reports nothing", begin(make_runtime(), limited_start("Fail")), {failed}, fails},
        {"a job that was initialized starts and reports nothing",
         begin(make_runtime(initializer()), limited_start("Fail")),
         {failed},
         fails},
        {"a job starts and reports nothing until it is stalled",
         all_of_steps(begin(make_runtime(), limited_start("Warn")), reports(200s, 900s)),
         {running},
         {"JobsCreationSucceeded", "ProgressDeadlineExceeded", "ProgressResumed"}},
        {"a job that reports nothing stays stalled",
         begin(make_runtime(), limited_start("Warn")),
         {stalled},
         {"JobsCreationSucceeded", "ProgressDeadlineExceeded"}},
        {"a job reports once after its start",
         all_of_steps(begin(make_runtime(), limited_start("Fail")), {{20s, report()}}),
         {running},
         {"JobsCreationSucceeded"}},
        {"a job that has not reported is suspended and resumed",
         all_of_steps(begin(make_runtime(), limited_start("Fail"), 900s),
                      {{60s, change_job(R"({"spec":{"suspend":true}})")},
                       {200s, change_job(R"({"spec":{"suspend":false}})")}}),
         // A reconciler that was down let it run.
         {failed_later, failed},
         {"JobSetDeleted", "JobsCreationSucceeded", "ProgressDeadlineExceeded", "Resumed", "Suspended"},
         900s},
        {"the JobSet of a job that has not reported is deleted",
         all_of_steps(begin(make_runtime(), limited_start("Fail")), {{60s, remove_job_set("Background")}}),
         {failed},
         {"JobSetDeleted", "JobSetRecreated", "JobsCreationSucceeded", "ProgressDeadlineExceeded"}},
        with_restarts({"a job reports nothing in its first attempt",
                       all_of_steps(begin(policy(), limited_start("Restart")), reports(200s, 900s)),
                       {running},
                       restarts_and_runs},
                      "1,1"),
    };
}

std::vector<Scenario> hangs() {
    const char* const given_up = "+ReachedMaxRestarts; no JobSet; snapshot; 0 active";
    const char* const failed_as_it_was_deleted =
        "+ProgressDeadlineExceeded (deleted); no JobSet; snapshot; 0 active";
    const char* const next_one_waits =
        "+JobsCreationSucceeded +BackingOff +Suspended; suspended; snapshot; 0 active";
    const char* const suspend = R"({"spec":{"suspend":true}})";
    const std::vector<Scenario::Step> hung = {{20s, report()}};
    return {
        with_restarts(
            {"a job hangs once and starts again",
             all_of_steps(all_of_steps(begin(policy(), limited("Restart")), hung), reports(200s, 900s)),
             {running},
             restarts_and_runs},
            "1,1"),
        with_restarts(
            {"a job hangs again and again",
             all_of_steps(begin(policy(), limited("Restart"), 900s), {{20s, report()}, {200s, report(20)}}),
             // A report that came as an attempt hung was no report of the next one.
             {given_up, running},
             {"JobSetDeleted", "JobsCreationSucceeded", "ReachedMaxRestarts", "TrainJobRestarted",
              "WaitingForDeletion"},
             900s},
            "1,1"),
        {"a job that hangs has nothing to restart by",
         all_of_steps(begin("Restart"), hung),
         {failed},
         {"JobSetDeleted", "JobsCreationSucceeded", "ProgressDeadlineExceeded"}},
        with_restarts({"the server of reports is away, and a job hangs",
                       all_of_steps(all_of_steps(begin(policy(), limited("Restart"), 100s),
                                                 {{300s, serve_reports(400s)}}),
                                    hung),
                       {running},
                       restarts_and_runs,
                       900s},
                      "1,1"),
        with_restarts({"there is no server of reports, and a job hangs",
                       all_of_steps(begin(policy(), limited("Restart"), 0s), hung),
                       {running},
                       {"JobsCreationSucceeded"}},
                      "0,0"),
        with_restarts({"a job that hung is suspended before its next attempt",
                       all_of_steps(all_of_steps(begin(policy(with_a_minute), limited("Restart")), hung),
                                    {{160s, change_job(suspend)}}),
                       // It was suspended before it was judged.
                       {next_one_waits, held},
                       {"JobsCreationSucceeded", "Suspended", "TrainJobRestarted", "WaitingForDeletion"}},
                      "1,1"),
        with_restarts(
            {"a job that hung is suspended before its next attempt and resumed",
             all_of_steps(all_of_steps(begin(policy(with_a_minute), limited("Restart")), hung),
                          {{160s, change_job(suspend)}, {300s, change_job(R"({"spec":{"suspend":false}})")}}),
             {resumed_and_running, running},
             {"JobsCreationSucceeded", "Resumed", "Suspended", "TrainJobRestarted", "WaitingForDeletion"},
             900s},
            "1,1"),
        with_restarts(
            {"the deadline passes before the next attempt of a job that hung",
             all_of_steps({{1s, policy(with_a_minute)},
                           {1s, serve_reports(700s)},
                           {2s, make_job(with(pods_that("never")), limited("Restart"),
                                         set("activeDeadlineSeconds", "170"))}},
                          hung),
             {overdue, overdue_before_anything},
             {"DeadlineExceeded", "JobsCreationSucceeded", "TrainJobRestarted", "WaitingForDeletion"}},
            "1,1"),
        with_restarts({"a job that hangs is deleted and held by a finalizer",
                       all_of_steps(all_of_steps(begin(policy(), limited("Restart")), hung),
                                    {{10s, hold(train_jobs)}, {100s, remove_job("Background")}}),
                       {failed_as_it_was_deleted,
                        // It had its JobSet after the report, which no Pod has sent, and which does not
                        // count; or never.
                        "+JobsCreationSucceeded (deleted); running; snapshot; 1 active",
                        "+ProgressDeadlineExceeded (deleted); no JobSet; snapshot; 0 active",
                        // It was deleted before it had a JobSet.
                        "no conditions (deleted); no JobSet; snapshot; 0 active",
                        "no conditions (deleted); no JobSet; no snapshot; 0 active"},
                       {"JobSetDeleted", "JobsCreationSucceeded", "ProgressDeadlineExceeded"}},
                      "0,0"),
        with_restarts(
            {"an attempt that hangs is about to complete",
             all_of_steps({{1s, policy()},
                           {1s, serve_reports(700s)},
                           {2s, make_job(with(pods_that("140")), limited("Restart"))}},
                          hung),
             {completed},
             {"AllJobsCompleted", "JobsCreationSucceeded", "TrainJobRestarted", "WaitingForDeletion"},
             600s,
             tells_of_attempts(true)},
            "1,1"),
    };
}

}  // namespace

std::vector<Scenario> progress_deadlines() {
    const std::vector<std::string> failed_ends = {failed, failed_before_anything};
    std::vector<Scenario> all = {
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
         {resumed_and_running, running, failed, failed_before_anything},
         {"JobsCreationSucceeded", "Resumed", "Suspended"}},
        {"a job reports nothing while it waits for its next attempt, nor soon after",
         {{1s, make_runtime(
                   run_policy(R"({"failurePolicy":{"maxRestarts":1,"backoff":{"initialSeconds":200}}})"))},
          {1s, serve_reports(900s)},
          {2s, make_job(with(pods_that("90", "failed-once")), limited("Fail"))},
          {60s, report()},
          {80s, report(20)}},
         // Reports that no Pod has sent, since the reconciler was down before there was a JobSet.
         {completed, failed},
         {"AllJobsCompleted", "JobsCreationSucceeded", "TrainJobRestarted", "WaitingForDeletion"},
         900s},
        {"a job has finished as its progress deadline passes",
         {{1s, make_runtime()},
          {1s, serve_reports(700s)},
          {2s, make_job(with(pods_that("130")), limited("Fail"))},
          {20s, report()}},
         {completed, failed, failed_as_it_finished, failed_before_anything},
         {"AllJobsCompleted", "JobsCreationSucceeded"}},
    };
    for (auto make : {start_deadlines, hangs})
        for (Scenario& each : make()) all.push_back(std::move(each));
    return all;
}

}  // namespace model
