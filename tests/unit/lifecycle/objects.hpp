#pragma once
#include <chrono>
#include <cstdint>

#include "api/names.hpp"
#include "lifecycle/conclusion.hpp"

/// Valid objects; a test changes one thing about them.
namespace lifecycle {

using namespace std::chrono_literals;

inline const api::Time start =
    std::chrono::sys_days(std::chrono::year(2026) / 1 / 15) + std::chrono::hours(10);

inline api::Condition condition(std::string_view type, std::string_view status, std::string_view reason,
                                api::Time at = start, std::string message = {}) {
    return {.type = std::string(type),
            .status = std::string(status),
            .reason = std::string(reason),
            .message = std::move(message),
            .last_transition = at,
            .observed_generation = 1};
}

inline api::Condition created() {
    return condition("Created", "True", "JobsCreationSucceeded", start, "Succeeded to create Jobs");
}

/// Just submitted: no status, no objects.
inline Observed submitted() {
    return {.job = api::TrainJob{.meta = {.name = "job",
                                          .ns = "default",
                                          .uid = "uid-1",
                                          .resource_version = "100",
                                          .generation = 1,
                                          .creation = start},
                                 .runtime_ref = {.api_group = std::string(api::trainer_group),
                                                 .kind = std::string(api::cluster_training_runtime_kind),
                                                 .name = "torch"},
                                 .managed_by = std::string(api::managed_by_this_controller)}};
}

inline api::JobSet job_set_of(const api::TrainJob& job) {
    return {.meta = {.name = job.meta.name,
                     .ns = job.meta.ns,
                     .uid = "job-set-1",
                     .resource_version = "200",
                     .creation = start,
                     .controller_uid = job.meta.uid},
            .suspend = job.suspend,
            .applied_here = true,
            .replicated_jobs = {{.name = "node", .ready = 1, .active = 1}},
            .runtime_digest = "sha256:0"};
}

/// Its JobSet runs, and the status says so.
inline Observed running() {
    Observed observed = submitted();
    observed.job_set = job_set_of(*observed.job);
    observed.job->conditions = {created()};
    observed.job->jobs_status = observed.job_set->replicated_jobs;
    observed.job->run_policy = api::RunPolicy();
    observed.job->runtime_digest = observed.job_set->runtime_digest;
    observed.job->start_time = start;
    return observed;
}

inline Observed with_deadline(Observed observed, std::chrono::seconds limit = 60s) {
    observed.job->active_deadline_seconds = limit.count();
    return observed;
}

/// Suspended, and all pods have ended.
inline Observed suspended() {
    Observed observed = running();
    observed.job->suspend = observed.job_set->suspend = true;
    observed.job->conditions.push_back(
        condition("Suspended", "True", "Suspended", start, "TrainJob is suspended"));
    observed.job->start_time.reset();
    observed.job_set->replicated_jobs = {{.name = "node", .suspended = 1}};
    observed.job->jobs_status = observed.job_set->replicated_jobs;
    return observed;
}

/// The JobSet has completed, the TrainJob's status lacks it.
inline Observed completed_unseen(api::Time at = start + 30s) {
    Observed observed = running();
    observed.job_set->finished =
        condition("Completed", "True", "AllJobsCompleted", at, "jobset completed successfully");
    observed.job_set->replicated_jobs = {{.name = "node", .succeeded = 1}};
    return observed;
}

inline Observed completed(api::Time at = start + 30s) {
    Observed observed = completed_unseen(at);
    observed.job->conditions.push_back(
        condition("Complete", "True", "AllJobsCompleted", at, "jobset completed successfully"));
    observed.job->completion_time = at;
    observed.job->jobs_status = observed.job_set->replicated_jobs;
    return observed;
}

/// The deadline has passed and is recorded; the JobSet is still there.
inline Observed failed_by_deadline() {
    Observed observed = with_deadline(running());
    observed.job->conditions.push_back(condition("Failed", "True", "DeadlineExceeded", start + 60s,
                                                 "TrainJob exceeded its active deadline"));
    observed.job->completion_time = start + 60s;
    return observed;
}

/// An attempt, which runs, after so many restarts; all of them counted.
inline Observed attempt(std::int64_t restarts = 0) {
    Observed observed = running();
    observed.job_set->is_attempt = true;
    observed.job_set->restarts_before = observed.job_set->restarts = {.all = restarts, .counted = restarts};
    observed.job->restarts = observed.job_set->restarts;
    return observed;
}

/// The same, which has failed; the TrainJob's status does not say so.
inline Observed failed_attempt(std::int64_t restarts = 0, std::string_view reason = "ReachedMaxRestarts") {
    Observed observed = attempt(restarts);
    observed.job_set->finished = condition("Failed", "True", reason, start + 60s, "jobset failed");
    observed.job_set->replicated_jobs = {{.name = "node", .failed = 1}};
    observed.job->jobs_status = observed.job_set->replicated_jobs;
    return observed;
}

/// The first attempt has failed, and the status has the judgement: another one follows, ten seconds later.
inline Observed judged_attempt() {
    Observed observed = failed_attempt();
    observed.job->restarts = {.all = 1, .counted = 1};
    observed.job->attempt = {.next = start + 70s, .failures = 1};
    observed.job->failures = {{.time = start + 50s,
                               .pod = "job-node-0-1",
                               .reason = "Error",
                               .failed_pods = 1,
                               .decision = api::FailureDecision::restart}};
    observed.job->conditions.push_back(
        condition("Restarting", "True", "BackingOff", start + 60s, "attempt 1 begins soon"));
    return observed;
}

inline void make_foreign(Observed& observed) {
    observed.job_set->meta.controller_uid = "uid-of-another-owner";
}

inline api::Error server_error(int status, std::string message, api::Errc code = api::Errc::forbidden) {
    return {.code = code, .message = std::move(message), .http_status = status};
}

}  // namespace lifecycle
