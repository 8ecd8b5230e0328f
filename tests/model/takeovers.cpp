// Jobs that Kubeflow Trainer's controller manager has started.
#include "acts.hpp"
#include "scenario_lists.hpp"

namespace model {
namespace {

using namespace ends;

// Changes its JobSet.
Tweak suspended(bool suspend, bool with_claims = false) {
    return [=](Json& job_set) {
        job_set["spec"]["suspend"] = suspend;
        if (!with_claims) return;
        job_set["spec"]["volumeClaimPolicies"] =
            api::parse_json(R"([{"templates":[{"metadata":{"name":"data"},
                "spec":{"accessModes":["ReadWriteOnce"]}}]}])")
                .value();
    };
}

const char* const suspended_condition = R"([{"type":"Suspended","status":"True","reason":"Suspended",
    "message":"TrainJob is suspended","lastTransitionTime":"2024-01-01T00:00:00Z"}])";

}  // namespace

std::vector<Scenario> takeovers() {
    return {
        taken_over({"a running job is taken over",
                    {{1s, make_runtime()},
                     {2s, make_job(with(pods_that("never")))},
                     {3s, apply_original_job_set()},
                     // It continues with the runtime that it started with.
                     {60s, change_runtime(R"({"spec":{"mlPolicy":{"numNodes":7}}})")}},
                    {running},
                    {"JobsCreationSucceeded"}},
                   30s),
        taken_over({"a running job is taken over, then suspended and resumed",
                    {{1s, make_runtime()},
                     {2s, make_job(with(pods_that("never")))},
                     {3s, apply_original_job_set(built_alike())},
                     {60s, change_job(R"({"spec":{"suspend":true}})")},
                     {90s, once_suspended(change_job(R"({"spec":{"suspend":false}})"))}},
                    {resumed_and_running},
                    {"JobsCreationSucceeded", "Resumed", "Suspended"}},
                   30s),
        taken_over({"a running job is taken over after its deadline",
                    {{1s, make_runtime()},
                     {2s, make_job(with(pods_that("never")), set("activeDeadlineSeconds", "20"))},
                     {3s, apply_original_job_set()}},
                    {"+DeadlineExceeded; no JobSet; no snapshot; 0 active",
                     // Its clock is slow.
                     overdue},
                    {"DeadlineExceeded", "JobSetDeleted"}},
                   30s),
        taken_over({"a suspended job is taken over and resumed",
                    {{1s, make_runtime()},
                     {2s, make_job(with(pods_that("never")))},
                     {3s, apply_original_job_set()},
                     {15s, change_job(R"({"spec":{"suspend":true}})")},
                     {16s, apply_original_job_set(suspended(true))},
                     {17s, set_conditions(suspended_condition)},
                     {60s, once_suspended(change_job(R"({"spec":{"suspend":false}})"))}},
                    {resumed_and_running},
                    {"JobSetDeleted", "JobsCreationSucceeded", "Resumed", "WaitingForDeletion"}},
                   30s),
        taken_over({"a suspended job is taken over after its initializer, and resumed elsewhere",
                    {{1s, make_runtime(initializer())},
                     {2s, make_job(with(pods_that("never")))},
                     {3s, apply_original_job_set(initialized())},
                     {15s, change_job(R"({"spec":{"suspend":true}})")},
                     {16s, apply_original_job_set(both(initialized(), suspended(true)))},
                     {17s, set_conditions(suspended_condition)},
                     {60s, once_suspended(kueue_writes(R"({"zone":"b"})", false))}},
                    {resumed_and_running},
                    {"JobSetKept", "JobsCreationSucceeded", "Resumed"},
                    600s,
                    all_of({same_job_set(), never_refused(), initialized_once(),
                            pods_have(Json::object({{"signalbox.test/run-seconds", "never"},
                                                    {"kueue.x-k8s.io/podset", "node"}}),
                                      Json::object({{"zone", "b"}}))})},
                   30s),
        taken_over({"what a job that is taken over has written is kept",
                    {{1s, make_runtime(volume_claims())},
                     {2s, make_job(with(pods_that("never")))},
                     {3s, apply_original_job_set(suspended(false, true))},
                     {15s, change_job(R"({"spec":{"suspend":true}})")},
                     {16s, apply_original_job_set(suspended(true, true))},
                     {17s, set_conditions(suspended_condition)},
                     {60s, change_job(with_affinity(pods_that("never"), "b"))},
                     {90s, change_job(R"({"spec":{"suspend":false}})")}},
                    {resumed_and_running},
                    {"JobSetKept", "JobsCreationSucceeded", "Resumed"}},
                   30s),
    };
}

}  // namespace model
