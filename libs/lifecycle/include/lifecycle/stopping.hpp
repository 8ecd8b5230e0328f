#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "api/job_set.hpp"
#include "lifecycle/observed.hpp"

/// A suspended JobSet counts no active Pod as soon as its Pods are told to end, and they go on for their
/// grace period. Resumed in that time, its Jobs would start new Pods beside them: two writers to one
/// checkpoint, two processes of one rank.
namespace lifecycle {

/// Returns those of the Jobs that are not at rest: they have Pods that are active or terminating
/// (https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-replacement-policy), or are not
/// suspended yet. `jobs`: of the JobSet, or of others, with `metadata`, `status` and `spec.suspend`.
Stopping stopping(const api::JobSet& job_set, const std::vector<api::Json>& jobs);

/// Returns how many Pods of the JobSet's Jobs the Job controller does not start again: those that have
/// succeeded, those whose index has failed for good, and all of a Job that is finished, for which the number
/// is the largest there is. `jobs`: as above.
api::DonePods done_pods(const api::JobSet& job_set, const std::vector<api::Json>& jobs);

/// Returns what a resume waits for.
std::string describe(const Stopping& stopping);

/// Returns the same for events, without numbers, so that it is the same each time.
std::string stops_first(const api::TrainJob& job);

/// Returns when to look again: no watch shows that the last Pod has ended. The pause grows with the wait.
/// `retry_state`: as the reconcile has begun with it.
std::chrono::seconds next_look_at_stopping(const RetryState& retry_state, api::Time now);

}  // namespace lifecycle
