#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/failure_policy.hpp"
#include "api/job_set.hpp"
#include "lifecycle/failed_pods.hpp"
#include "lifecycle/judgement.hpp"
#include "lifecycle/observed.hpp"

/// Attempts: under a failure policy, JobSet ends with its first failed Pod, Signalbox judges the failure, and
/// the next attempt is another JobSet. An attempt that hangs is judged as well, and ended then.
/// docs/design/lifecycle.md#attempts
namespace lifecycle {

/// An attempt that lasts that long has got somewhere: what failed before it does not count any more for the
/// back-off and for the bound of uncounted restarts.
inline constexpr std::chrono::minutes lasting_attempt{10};

/// Uncounted restarts in a row, each before its attempt lasted. More end the job.
inline constexpr std::int64_t most_uncounted_restarts = 100;

/// Returns whether the JobSet is an attempt that was judged, so that the job goes on with another JobSet: the
/// status has more restarts than it, and it has failed, or it runs and the newest entry of the status says
/// that this attempt is restarted. A number of restarts alone ends nothing that runs.
bool is_judged(const Observed& observed);

/// Returns whether the status says of the attempt that it is restarted, whatever has become of it since: it
/// may have completed before it was ended.
bool is_said_to_restart(const api::TrainJob& job, const api::JobSet& attempt);

/// Judges the failure of `job_set`, an attempt. `first`: the Pod that failed first; nullptr if none is left.
/// `so_far`: the restarts of the TrainJob until now.
Judgement judge(const api::FailurePolicy& policy, const api::JobSet& job_set, const FailedPod* first,
                const api::Restarts& so_far, const api::Attempt& attempt);

/// How long the Pods of an attempt may find no node because it avoids some.
inline constexpr std::chrono::minutes exclusion_starves{5};

/// Returns when to look whether Pods of the attempt that runs find no node; nullopt: they may, or it avoids
/// none.
std::optional<api::Time> next_look_at_placement(const Observed& observed);

/// Judges an attempt whose Pods find no node while it avoids some: another one follows at once, which may use
/// all nodes.
Judgement judge_starved(const api::Attempt& attempt);

/// Returns the entry of the status for such an attempt.
api::Failure starved_attempt(const api::JobSet& job_set, api::Time now);

/// Judges an attempt that hangs. `lasted_until`: its last progress; empty if it has reported nothing.
Judgement judge_hang(const api::FailurePolicy& policy, const api::Restarts& so_far,
                     const api::Attempt& attempt, std::optional<api::Time> lasted_until);

/// Returns the entry of the status for such an attempt. `text`: overdue_text().
api::Failure hung_attempt(std::string_view text, api::Time now);

/// Returns why the job ends: the message of its condition. `judgement` does not restart it.
std::string describe_end(const Judgement& judgement, const api::Restarts& so_far);

/// Returns the entry of the status for a failure of which no Pod is left.
api::Failure failure_without_pod(const api::JobSet& job_set);

}  // namespace lifecycle
