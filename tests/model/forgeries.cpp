// A tenant may write every ConfigMap of its namespace, and delete JobSets.
#include "acts.hpp"
#include "scenario_lists.hpp"

namespace model {

using namespace ends;

std::vector<Scenario> forgeries() {
    // A reconciler was stopped after it had removed a forged snapshot of a job whose JobSet existed.
    const char* const unsaved = "+JobsCreationSucceeded; running; no snapshot; 1 active";
    const char* const resumed_unsaved = "-Resumed +JobsCreationSucceeded; running; no snapshot; 1 active";
    const char* const another_runtime = R"({"spec":{"mlPolicy":{"numNodes":5}}})";
    return {
        {"a tenant replaces every snapshot of a suspended job, then resumes it",
         {{1s, make_runtime()},
          {1500ms, forge_snapshots()},
          {2s, make_job(with(pods_that("never")), set("suspend", "true"))},
          {30s, change_job(R"({"spec":{"suspend":false}})")}},
         // A reconciler that was down never saw it suspended.
         {resumed_and_running, running, resumed_unsaved, unsaved},
         {"JobsCreationSucceeded", "Resumed", "Suspended"},
         600s,
         image_is("first")},
        {"a tenant replaces every snapshot, and the runtime is another one for a while",
         {{1s, make_runtime()},
          {1500ms, forge_snapshots()},
          {2s, make_job(with(pods_that("never")), set("suspend", "true"))},
          {20s, change_runtime(another_runtime)},
          {30s, change_job(R"({"spec":{"suspend":false}})")},
          {90s, change_runtime(R"({"spec":{"mlPolicy":{"numNodes":1}}})")}},
         {resumed_and_running, running, resumed_unsaved, unsaved,
          // A reconciler that was down made its first JobSet of the other runtime.
          "-Resumed -JobsBuildFailed; suspended; snapshot; 0 active"},
         {"JobsBuildFailed", "JobsCreationSucceeded", "Resumed", "Suspended"},
         600s,
         where_made(image_is("first"))},
        {"a tenant replaces every snapshot, and deletes the JobSet",
         {{1s, make_runtime()},
          {1500ms, forge_snapshots()},
          {2s, make_job(with(pods_that("never")))},
          {30s, remove_job_set("Background")}},
         {running, unsaved},
         {"JobSetRecreated", "JobsCreationSucceeded"},
         600s,
         image_is("first")},
        {"a tenant replaces every snapshot, and deletes the JobSet after a change of the runtime",
         {{1s, make_runtime()},
          {1500ms, forge_snapshots()},
          {2s, make_job(with(pods_that("never")))},
          {20s, change_runtime(another_runtime)},
          {30s, remove_job_set("Background")}},
         {unvouched,
          // A leader that stood still has deleted the forged one last.
          "-JobsBuildFailed; no JobSet; no snapshot; 0 active",
          // Its JobSet was made afterwards.
          running, unsaved},
         {"JobsBuildFailed", "JobsCreationSucceeded"},
         600s,
         where_made(image_is("first"))},
        {"a tenant replaces every snapshot of a job that cannot begin before its runtime is gone",
         {{1s, make_runtime()},
          {1500ms, forge_snapshots()},
          {1500ms, limit("JobSet", quota)},
          {2s, make_job(with(pods_that("never")))},
          {20s, remove_runtime()},
          {30s, limit_nothing()}},
         // A late request makes the JobSet of the job's own runtime once there is room.
         {unvouched, no_runtime, running},
         {"JobsBuildFailed", "JobsCreationFailed"},
         600s,
         where_made(image_is("first"))},
    };
}

}  // namespace model
