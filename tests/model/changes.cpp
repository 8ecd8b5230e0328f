// Changes of a suspended job in a cluster that changes or limits JobSets, and what the job keeps.
#include "acts.hpp"
#include "kube/client/request.hpp"
#include "scenario_lists.hpp"

namespace model {
namespace {

using namespace ends;

const char* const resume = R"({"spec":{"suspend":false}})";
const api::ObjectKey the_claim = {"ns", "data-job"};
const api::ObjectKey the_snapshot = {"ns", "job-runtime-snapshot"};
const char* const our_label = R"("example.com/ours":"yes")";
const Json other_zone = Json::object({{"zone", "b"}});
const Json never_ending = Json::object({{"signalbox.test/run-seconds", "never"}});

// The pods get a label while the job is suspended.
Action label_pods() { return change_job(with(pods_that("never"), our_label)); }

Action suspend_with(Tweak change) { return change_job(both(set("suspend", "true"), std::move(change))); }

// Evicts like Kueue: removes its patch once nothing is active, and admits again.
Action evict_to_other_zone() {
    return both(change_job(R"({"spec":{"suspend":true}})"),
                once_suspended(kueue_writes("null", true), 20s,
                               once_suspended(kueue_writes(R"({"zone":"b"})", false))));
}

const Json labels_of_kueue =
    Json::object({{"signalbox.test/run-seconds", "never"}, {"kueue.x-k8s.io/podset", "node"}});

// A job of this runtime moves to another zone, and its JobSet is updated in place.
Scenario moved(std::string name, Tweak runtime, std::vector<Check> more = {}) {
    for (const Check& always : {same_job_set(), never_refused(), owns_no_defaults(),
                                jobs_went_with_their_pods(), pods_have(labels_of_kueue, other_zone)})
        more.push_back(always);
    return {std::move(name),
            {{1s, make_runtime(std::move(runtime))},
             {2s, make_job(with(pods_that("never")), set("suspend", "true"))},
             {20s, kueue_writes(R"({"zone":"a"})", false)},
             {40s, evict_to_other_zone()}},
            {resumed_and_running},
            {"Suspended", "Resumed", "JobsReplaced", "JobsCreationSucceeded"},
            900s,
            all_of(std::move(more))};
}

// The Pods of a suspended job in this cluster get a label, and its JobSet is updated in place.
Scenario relabelled(std::string name, std::vector<Scenario::Step> steps, Check more) {
    steps.push_back({2s, make_job(with(pods_that("never")), set("suspend", "true"))});
    steps.push_back({30s, label_pods()});
    steps.push_back({60s, once_suspended(change_job(resume))});
    return {std::move(name),
            std::move(steps),
            {resumed_and_running},
            {"Suspended", "Resumed", "JobsCreationSucceeded"},
            600s,
            all_of({same_job_set(), never_refused(), std::move(more)})};
}

}  // namespace

std::vector<Scenario> changes() {
    return {
        relabelled("a job takes a change although JobSet's webhook has named its rules",
                   {{1s, make_runtime(nameless_rule())}}, owns_no_defaults()),
        relabelled("a job takes a change although a policy has given its pods another image",
                   {{0s, change_new_job_sets(other_image())}, {1s, make_runtime()}},
                   image_is("mirror/first")),
        {"a job of which the cluster always makes something else is made anew a few times",
         {{0s, both(change_new_job_sets(both(other_image(), no_annotations())), expect_no_notes())},
          {1s, make_runtime()},
          {2s, make_job(with(pods_that("never")), set("suspend", "true"))}},
         {"+Suspended -JobsCreationFailed; suspended; snapshot; 0 active"},
         {"Suspended", "JobSetDeleted", "WaitingForDeletion", "JobsCreationSucceeded", "JobsCreationFailed"},
         900s,
         made_at_most(4)},
        moved("a job is moved after it was initialized", initializer(), {initialized_once()}),
        moved("a job with volume claims is moved", volume_claims()),
        {"the JobSet of a job whose volume claims are kept is deleted",
         {{1s, make_runtime(volume_claims("Retain"))},
          {2s, make_job(with(pods_that("never")))},
          {20s, remove_job_set("Background")}},
         {running},
         {"JobSetRecreated", "JobsCreationSucceeded"},
         600s,
         never_refused()},
        {"the JobSet and the claim of a job are deleted, and the claim stays for a while",
         {{1s, make_runtime(volume_claims("Retain"))},
          {2s, make_job(with(pods_that("never")))},
          {20s, both(hold(kube::resources::volume_claims, the_claim),
                     remove(kube::resources::volume_claims, the_claim, "Background"))},
          {21s, remove_job_set("Background")},
          {40s, release(kube::resources::volume_claims, the_claim)}},
         {running},
         {"JobSetRecreated", "JobsCreationSucceeded", "WaitingForDeletion"},
         600s,
         never_refused()},
        {"a policy gives all Jobs a label that is withdrawn",
         {{0s, change_new("Job", pod_label("example.com/ours", "yes"))},
          {1s, make_runtime()},
          {2s, make_job(with(pods_that("never"), our_label), set("suspend", "true"))},
          {30s, change_job(with(pods_that("never")))},
          {31s, once_suspended(change_job(resume))}},
         {resumed_and_running},
         {"Suspended", "Resumed", "JobsReplaced", "JobsNotReplaced", "JobsCreationSucceeded"},
         900s,
         all_of({same_job_set(), never_refused(), jobs_deleted_at_most(6)}),
         jobs_deleted_at_most(3)},
        {"what has finished does not run again for a change",
         {{1s, make_runtime(initializer())},
          {2s, make_job(with(pods_that("never")))},
          {20s, suspend_with(with_affinity(pods_that("never"), "b"))},
          {60s, once_suspended(change_job(with(pods_that("never"))))},
          {90s, once_suspended(change_job(resume))}},
         {resumed_and_running},
         {"Suspended", "Resumed", "JobSetKept", "JobsCreationSucceeded"},
         900s,
         all_of({initialized_once(), affinity_is("")}),
         same_job_set()},
        {"a job is resumed although only a new JobSet could take its change, and would lose what has "
         "finished",
         {{1s, make_runtime(initializer())},
          {2s, make_job(with(pods_that("never")))},
          {20s, suspend_with(with_affinity(pods_that("never"), "b"))},
          {60s, once_suspended(change_job(resume))}},
         {resumed_and_running},
         {"Suspended", "Resumed", "JobSetKept", "JobsCreationSucceeded"},
         900s,
         all_of({initialized_once(), never_refused()}),
         all_of({same_job_set(), affinity_is("")})},
        {"a job is resumed although its snapshot is gone and its runtime is another one",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")), set("suspend", "true"))},
          {45s, both(change_runtime(R"({"spec":{"mlPolicy":{"numNodes":5}}})"),
                     remove(kube::resources::config_maps, the_snapshot, "Background"))},
          {60s, change_job(resume)}},
         {"-Resumed +JobsCreationSucceeded; running; no snapshot; 1 active",
          "+JobsCreationSucceeded; running; no snapshot; 1 active",
          // A reconciler that was down until then made its first JobSet of the other runtime.
          resumed_and_running, running},
         {"Suspended", "Resumed", "JobsBuildFailed", "JobsCreationSucceeded"},
         900s,
         {},
         all_of({same_job_set(), job_set_has("parallelism", 1)})},
        taken_over({"a job that is first seen after its resume has its whole deadline",
                    {{1s, make_runtime()},
                     {2s, make_job(with(pods_that("20")), set("suspend", "true"),
                                   set("activeDeadlineSeconds", "300"))},
                     {305s, change_job(resume)}},
                    // The others after as long an outage.
                    {resumed_and_completed, "-Resumed +DeadlineExceeded; no JobSet; no snapshot; 0 active",
                     "-Resumed +DeadlineExceeded; no JobSet; snapshot; 0 active"},
                    {"Resumed", "AllJobsCompleted", "JobsCreationSucceeded"},
                    900s},
                   310s),
        {"a JobSet is made anew where the quota of JobSets is exactly full",
         {{0s, limit_job_sets(1)},
          {1s, make_runtime()},
          {2s, make_job(with(pods_that("never")), set("suspend", "true"))},
          {30s, change_job(with_affinity(pods_that("never"), "b"))},
          {120s, once_suspended(change_job(resume))}},
         {resumed_and_running},
         {"Suspended", "Resumed", "JobSetDeleted", "WaitingForDeletion", "JobsCreationSucceeded"},
         900s,
         affinity_is("b"),
         never_refused()},
        {"a JobSet is made anew once it can be deleted",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")), set("suspend", "true"))},
          {20s, fail_deletions("jobsets.jobset.x-k8s.io")},
          {30s, change_job(with_affinity(pods_that("never"), "b"))},
          {43s, fail_nothing()},
          {400s, once_suspended(change_job(resume))}},
         {resumed_and_running},
         {"Suspended", "Resumed", "JobSetDeleted", "WaitingForDeletion", "JobsCreationSucceeded"},
         900s,
         affinity_is("b"),
         never_refused()},
        {"a JobSet stays while a new one would be refused",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")), set("suspend", "true"))},
          {20s, limit("JobSet", quota)},
          {30s, change_job(with_affinity(pods_that("never"), "b"))},
          {60s, expect_job_set()},
          {70s, limit_nothing()},
          {400s, once_suspended(change_job(resume))}},
         {resumed_and_running},
         {"Suspended", "Resumed", "JobsCreationFailed", "JobSetDeleted", "WaitingForDeletion",
          "JobsCreationSucceeded"},
         900s,
         affinity_is("b")},
    };
}

}  // namespace model
