// Jobs that start again after a failure: by a failure policy of their runtime, each time with another JobSet.
#include <set>

#include "acts.hpp"
#include "scenario_lists.hpp"

namespace model {
namespace {

using namespace ends;

const char* const suspend = R"({"spec":{"suspend":true}})";
const char* const resume = R"({"spec":{"suspend":false}})";

Action policy(const char* text, Tweak tweak = {}) {
    const Tweak policy = run_policy(std::string(R"({"failurePolicy":)") + text + "}");
    return make_runtime(tweak ? both(policy, std::move(tweak)) : policy);
}

// All JobSets have as many nodes as the first one.
std::string has_equal_attempts(const World& world) {
    std::set<std::string> nodes;
    for (const Change& change : world.api.history("jobsets.jobset.x-k8s.io")) {
        const Json job_set = api::parse_json(*change.text).value();
        const Json& job = job_set["spec"]["replicatedJobs"][std::size_t{0}]["template"];
        nodes.insert(to_json(job["spec"]["parallelism"]));
    }
    return nodes.size() <= 1 ? "" : "its attempts have different numbers of nodes";
}

// Unless something fails, it has those restarts, and tells why.
Scenario with_restarts(Scenario scenario, const char* want) {
    scenario.when_unharmed = all_of({restarted(want), tells_of_pods()});
    if (!scenario.check) scenario.check = counts_all_restarts();
    return scenario;
}

const char* const once_a_job = R"({"maxRestarts":1})";
const char* const thrice_a_job = R"({"maxRestarts":3})";
const char* const with_a_minute = R"({"maxRestarts":3,"backoff":{"initialSeconds":60}})";
const char* const given_up = "+ReachedMaxRestarts; finished; snapshot; 0 active";
const char* const given_up_later = "-Resumed +ReachedMaxRestarts; finished; snapshot; 0 active";
const char* const given_up_suspended = "+Suspended +ReachedMaxRestarts; finished; snapshot; 0 active";

const std::vector<std::string> restarts_and_completes = {"AllJobsCompleted", "JobsCreationSucceeded",
                                                         "TrainJobRestarted", "WaitingForDeletion"};

std::vector<Scenario> of_policies() {
    return {
        with_restarts({"a job fails once and starts again",
                       {{1s, policy(once_a_job)}, {2s, make_job(with(pods_that("5", "failed-once")))}},
                       {completed},
                       restarts_and_completes},
                      "1,1"),
        with_restarts(
            {"a job fails again and again",
             {{1s, policy(R"({"maxRestarts":2})")}, {2s, make_job(with(pods_that("5", "failed")))}},
             {given_up},
             {"JobsCreationSucceeded", "ReachedMaxRestarts", "TrainJobRestarted", "WaitingForDeletion"}},
            "2,2"),
        {"a job is evicted once",
         {{1s, policy("{}")}, {2s, make_job(with(pods_that("5", "evicted-once")))}},
         {completed},
         restarts_and_completes,
         600s,
         counts_all_restarts(),
         restarted("1,0")},
        with_restarts({"a rule of a failure policy ends a job",
                       {{1s, policy(R"({"maxRestarts":3,"rules":[
                             {"action":"FailTrainJob","onExitCodes":{"operator":"In","values":[1]}}]})")},
                        {2s, make_job(with(pods_that("5", "failed")))}},
                       {"+FailJobSetFailurePolicyAction; finished; snapshot; 0 active"},
                       {"FailJobSetFailurePolicyAction", "JobsCreationSucceeded"}},
                      "0,0"),
        with_restarts({"a node refuses the Pods of a job",
                       {{1s, policy("{}")}, {2s, make_job(with(pods_that("5", "refused")))}},
                       {completed},
                       restarts_and_completes,
                       600s,
                       all_of({counts_all_restarts(), avoids("node-1")})},
                      "1,0"),
        with_restarts(
            {"a job fails while its companion runs",
             {{1s, policy(once_a_job, companion())}, {2s, make_job(with(pods_that("5", "failed-once")))}},
             {running},
             {"JobsCreationSucceeded", "TrainJobRestarted", "WaitingForDeletion"}},
            "1,1"),
        with_restarts(
            {"a job that was initialized fails once",
             {{1s, policy(once_a_job, initializer())}, {2s, make_job(with(pods_that("5", "failed-once")))}},
             {completed},
             restarts_and_completes},
            "1,1"),
        with_restarts(
            {"a job with volume claims fails once",
             {{1s, policy(once_a_job, volume_claims())}, {2s, make_job(with(pods_that("5", "failed-once")))}},
             {completed},
             restarts_and_completes,
             600s,
             all_of({counts_all_restarts(), keeps_claim()})},
            "1,1"),
        with_restarts({"a job whose volume claims are kept fails once",
                       {{1s, policy(once_a_job, volume_claims("Retain"))},
                        {2s, make_job(with(pods_that("5", "failed-once")))}},
                       {completed},
                       restarts_and_completes,
                       600s,
                       all_of({counts_all_restarts(), keeps_claim()})},
                      "1,1"),
        // Its status announces the JobSet; a crash leaves it at that.
        {"a runtime changes before a job starts again that was refused at first",
         {{0s, limit("JobSet", quota)},
          {1s, policy(once_a_job)},
          {2s, make_job(with(pods_that("5", "failed-once")))},
          {20s, limit_nothing()},
          {45s, change_runtime(R"({"spec":{"mlPolicy":{"numNodes":7}}})")}},
         {completed},
         {"AllJobsCompleted", "JobsCreationFailed", "JobsCreationSucceeded", "TrainJobRestarted",
          "WaitingForDeletion"},
         600s,
         all_of({counts_all_restarts(), has_equal_attempts}),
         restarted("1,1")},
        {"a runtime changes before its job starts again",
         {{1s, policy(once_a_job)},
          {2s, make_job(with(pods_that("5", "failed-once")))},
          {10s, change_runtime(R"({"spec":{"mlPolicy":{"numNodes":7}}})")}},
         {completed},
         restarts_and_completes,
         600s,
         all_of({counts_all_restarts(), has_equal_attempts}),
         restarted("1,1")},
        {"a runtime goes before its job starts again",
         {{1s, policy(once_a_job)},
          {2s, make_job(with(pods_that("5", "failed-once")))},
          {10s, remove_runtime()}},
         {completed, no_runtime, unvouched},
         restarts_and_completes,
         600s,
         {},
         restarted("1,1")},
    };
}

std::vector<Scenario> between_attempts() {
    return {
        with_restarts({"a job is suspended between its attempts and resumed",
                       {{1s, policy(with_a_minute)},
                        {2s, make_job(with(pods_that("20", "failed-once")))},
                        {30s, change_job(suspend)},
                        {100s, change_job(resume)}},
                       {resumed_and_completed, completed},
                       {"AllJobsCompleted", "JobsCreationSucceeded", "Resumed", "Suspended",
                        "TrainJobRestarted", "WaitingForDeletion"},
                       900s},
                      "1,1"),
        with_restarts({"a job is suspended between its attempts and resumed before the next one",
                       {{1s, policy(with_a_minute)},
                        {2s, make_job(with(pods_that("20", "failed-once")))},
                        {30s, change_job(suspend)},
                        {50s, change_job(resume)}},
                       {resumed_and_completed, completed},
                       {"AllJobsCompleted", "JobsCreationSucceeded", "Resumed", "Suspended",
                        "TrainJobRestarted", "WaitingForDeletion"},
                       900s},
                      "1,1"),
        with_restarts({"a job stays suspended between its attempts",
                       {{1s, policy(thrice_a_job)},
                        {2s, make_job(with(pods_that("20", "failed-once")))},
                        {25s, change_job(suspend)}},
                       {"+JobsCreationSucceeded +BackingOff +Suspended; finished; snapshot; 0 active", held},
                       {"JobsCreationSucceeded", "Suspended", "TrainJobRestarted"}},
                      "1,1"),
        {"a job is deleted between its attempts",
         {{1s, policy(with_a_minute)},
          {2s, make_job(with(pods_that("20", "failed-once")))},
          {30s, remove_job("Foreground")}},
         {gone},
         {"JobsCreationSucceeded", "TrainJobRestarted"}},
        with_restarts({"a job that a finalizer holds is deleted between its attempts",
                       {{1s, policy(with_a_minute)},
                        {2s, make_job(with(pods_that("20", "failed-once")))},
                        {10s, hold(train_jobs)},
                        {30s, remove_job("Background")}},
                       {"+JobsCreationSucceeded +BackingOff (deleted); finished; snapshot; 0 active",
                        // It was judged only then, or never had a JobSet.
                        "+ReachedMaxRestarts (deleted); finished; snapshot; 0 active",
                        "no conditions (deleted); no JobSet; snapshot; 0 active",
                        "no conditions (deleted); no JobSet; no snapshot; 0 active"},
                       {"JobsCreationSucceeded", "TrainJobRestarted"}},
                      "1,1"),
        with_restarts({"an attempt of a job that is being deleted fails",
                       {{1s, policy(thrice_a_job)},
                        {2s, make_job(with(pods_that("20", "failed")))},
                        {5s, hold(train_jobs)},
                        {10s, remove_job("Background")}},
                       {"+ReachedMaxRestarts (deleted); finished; snapshot; 0 active",
                        // It was deleted before it had a JobSet.
                        "no conditions (deleted); no JobSet; snapshot; 0 active",
                        "no conditions (deleted); no JobSet; no snapshot; 0 active"},
                       {"JobsCreationSucceeded", "ReachedMaxRestarts"}},
                      "0,0"),
        with_restarts(
            {"the deadline passes between the attempts of a job",
             {{1s, policy(with_a_minute)},
              {2s, make_job(with(pods_that("20", "failed-once")), set("activeDeadlineSeconds", "40"))}},
             // By a wrong clock it may pass late, and to a reconciler that was down, in the next attempt.
             {"+DeadlineExceeded; finished; snapshot; 0 active", completed, overdue,
              // It was seen only then, or not again before.
              "+DeadlineExceeded; no JobSet; no snapshot; 0 active",
              "+DeadlineExceeded; no JobSet; snapshot; 0 active"},
             {"DeadlineExceeded", "JobsCreationSucceeded", "TrainJobRestarted"}},
            "1,1"),
        // Nobody has kept it.
        {"the JobSet is deleted between the attempts of a job",
         {{1s, policy(with_a_minute)},
          {2s, make_job(with(pods_that("20", "failed-once")))},
          {30s, remove_job_set("Background")}},
         {completed},
         {"AllJobsCompleted", "JobsCreationSucceeded", "TrainJobRestarted"},
         600s,
         {},
         restarted("1,1")},
        with_restarts({"a job that has restarted gets another JobSet",
                       {{1s, policy(once_a_job)},
                        {2s, make_job(with_affinity(pods_that("20", "failed"), "a"))},
                        {45s, change_job(suspend)},
                        {60s, change_job(with_affinity(pods_that("20", "failed"), "b"))},
                        {90s, change_job(resume)}},
                       {given_up_later, given_up, given_up_suspended},
                       {"JobSetDeleted", "JobsCreationSucceeded", "ReachedMaxRestarts", "Resumed",
                        "Suspended", "TrainJobRestarted", "WaitingForDeletion"},
                       900s},
                      "1,1"),
        with_restarts({"a job that has restarted is resized",
                       {{1s, policy(once_a_job)},
                        {2s, make_job(with(pods_that("20", "failed")))},
                        {45s, change_job(suspend)},
                        {60s, change_job(R"({"spec":{"trainer":{"numNodes":3}}})")},
                        {90s, change_job(resume)}},
                       {given_up_later, given_up, given_up_suspended},
                       {"JobSetDeleted", "JobsCreationSucceeded", "ReachedMaxRestarts", "Resumed",
                        "Suspended", "TrainJobRestarted", "WaitingForDeletion"},
                       900s},
                      "1,1"),
        // JobSet tells of the failure while the job is suspended already.
        with_restarts(
            {"a job fails as it is suspended and gets another JobSet",
             {{1s, policy(thrice_a_job)},
              {2s, make_job(with_affinity(pods_that("20", "failed-once"), "a"))},
              {22s, slow_job_set_controller(5s)},
              {23s, change_job(both(set("suspend", "true"), with_affinity(pods_that("never"), "b")))},
              {35s, slow_job_set_controller(30ms)},
              {40s, once_suspended(change_job(resume))}},
             // A reconciler that was down let it go on.
             {resumed_and_running, resumed_and_completed},
             {"JobsCreationSucceeded", "Resumed", "Suspended", "TrainJobRestarted", "WaitingForDeletion"},
             900s},
            "1,1"),
        with_restarts(
            {"a job that its template restarts gets another JobSet",
             {{1s, make_runtime(own_restarts(3))},
              {2s, make_job(with_affinity(pods_that("20", "failed-once"), "a"))},
              {30s, change_job(suspend)},
              {60s, change_job(with_affinity(pods_that("20"), "b"))},
              {90s, change_job(resume)}},
             {resumed_and_completed, completed, "+Suspended +AllJobsCompleted; finished; snapshot; 0 active"},
             {"AllJobsCompleted", "JobSetDeleted", "JobsCreationSucceeded", "Resumed", "Suspended",
              "TrainJobRestarted", "WaitingForDeletion"},
             900s},
            "1,1"),
    };
}

const char* const many_restarts = R"({"restarts":40,"restartsCountTowardsMax":40,
    "nextAttemptTime":"2026-01-15T06:00:00Z"})";
const char* const no_restarts = R"({"restarts":0,"restartsCountTowardsMax":0})";

std::vector<Scenario> under_obstacles() {
    const char* const waits = "+JobsCreationSucceeded +BackingOff; finished; snapshot; 0 active";
    // They put the next attempt off.
    const char* const waits_without_job_set =
        "+JobsCreationSucceeded +BackingOff; no JobSet; snapshot; 0 active";
    return {
        with_restarts({"failed Pods cannot be listed for a moment",
                       {{1s, policy(once_a_job)},
                        {2s, make_job(with(pods_that("5", "failed-once")))},
                        {5s, fail_reads("pods", "etcdserver: no leader")},
                        {10s, fail_nothing()}},
                       {completed},
                       restarts_and_completes},
                      "1,1"),
        {"failed Pods cannot be listed for minutes",
         {{1s, both(expect_no_pods(), policy(once_a_job))},
          {2s, make_job(with(pods_that("5", "failed-once")))},
          {5s, fail_reads("pods", "etcdserver: no leader")},
          {125s, fail_nothing()}},
         {completed},
         {"AllJobsCompleted", "JobsCreationSucceeded", "ReconcileError", "TrainJobRestarted",
          "WaitingForDeletion"},
         600s,
         counts_all_restarts(),
         restarted("1,1")},
        {"the snapshot cannot be read as an attempt fails",
         {{1s, policy(once_a_job)},
          {2s, make_job(with(pods_that("5", "failed-once")))},
          {5s, fail_reads("configmaps", "etcdserver: no leader")},
          {65s, fail_nothing()}},
         {completed},
         {"AllJobsCompleted", "JobsCreationSucceeded", "ReconcileError", "TrainJobRestarted",
          "WaitingForDeletion"},
         600s,
         counts_all_restarts(),
         all_of({restarted("1,1"), tells_of_pods()})},
        {"others write the restarts of an attempt that runs",
         {{1s, policy(thrice_a_job)},
          {2s, make_job(with(pods_that("20", "failed-once")))},
          {40s, set_status(many_restarts)},
          {45s, set_status(no_restarts)}},
         {completed, waits, waits_without_job_set},
         restarts_and_completes,
         900s,
         {},
         restarted("1,1")},
        {"others write between the attempts of a job that it has restarted more often",
         {{1s, policy(with_a_minute)},
          {2s, make_job(with(pods_that("20", "failed-once")))},
          {40s, set_status(many_restarts)}},
         {waits, completed, given_up, waits_without_job_set,
          // They wrote before it was judged.
          "+JobsCreationSucceeded; finished; snapshot; 0 active",
          "no conditions; finished; snapshot; 0 active"},
         {"JobsCreationSucceeded", "TrainJobRestarted"},
         900s,
         {},
         restarted("40,40")},
        // The failure is judged again, and counted as the first.
        {"others write between the attempts of a job that it has never restarted",
         {{1s, policy(with_a_minute)},
          {2s, make_job(with(pods_that("20", "failed-once")))},
          {40s, set_status(no_restarts)}},
         {completed},
         restarts_and_completes,
         900s,
         {},
         restarted("1,1")},
    };
}

}  // namespace

std::vector<Scenario> attempts() {
    std::vector<Scenario> all = of_policies();
    for (Scenario& each : between_attempts()) all.push_back(std::move(each));
    for (Scenario& each : under_obstacles()) all.push_back(std::move(each));
    return all;
}

}  // namespace model
