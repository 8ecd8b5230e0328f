#include "lifecycle/conclusion.hpp"

namespace lifecycle {
namespace {

// A merge patch removes a member that is null, and leaves a member that it does not have.
api::Json patch_of(const api::RunPolicy& from, const api::RunPolicy& to) {
    api::Json patch = api::to_json_tree(to);
    const api::Json before = api::to_json_tree(from);
    for (const auto& [name, value] : before.members())
        if (!patch.contains(name)) patch[name] = api::Json();
    return patch;
}

void add_time(api::Json& status, std::string_view name, const std::optional<api::Time>& from,
              const std::optional<api::Time>& to) {
    if (from != to) status[name] = to ? api::Json(api::format_time(*to)) : api::Json();
}

}  // namespace

api::Json status_patch(const api::TrainJob& job, const Conclusion& conclusion) {
    api::Json status = api::Json::object();
    if (conclusion.conditions != job.conditions) {
        // An empty list, since the API server would refuse a status without any member.
        api::Json& list = status["conditions"] = api::Json::array();
        for (const api::Condition& condition : conclusion.conditions)
            list.push_back(api::to_json_tree(condition));
    }
    if (conclusion.jobs_status != job.jobs_status)
        status["jobsStatus"] = api::to_json_tree(conclusion.jobs_status);
    if (conclusion.run_policy != job.run_policy)
        status["runPolicy"] = conclusion.run_policy ? patch_of(job.run_policy.value_or(api::RunPolicy()),
                                                               *conclusion.run_policy)
                                                    : api::Json();
    if (conclusion.runtime_digest != job.runtime_digest) status["runtimeDigest"] = conclusion.runtime_digest;
    add_time(status, "startTime", job.start_time, conclusion.start_time);
    add_time(status, "completionTime", job.completion_time, conclusion.completion_time);
    if (conclusion.failures != job.failures) status["failures"] = api::to_json_tree(conclusion.failures);
    add_time(status, "attemptStartTime", job.attempt.began, conclusion.attempt.began);
    add_time(status, "nextAttemptTime", job.attempt.next, conclusion.attempt.next);
    if (conclusion.attempt.failures != job.attempt.failures)
        status["consecutiveFailures"] = conclusion.attempt.failures;
    if (conclusion.attempt.uncounted_failures != job.attempt.uncounted_failures)
        status["consecutiveUncounted"] = conclusion.attempt.uncounted_failures;
    if (conclusion.restarts.all != job.restarts.all) status["restarts"] = conclusion.restarts.all;
    if (conclusion.restarts.counted != job.restarts.counted)
        status["restartsCountTowardsMax"] = conclusion.restarts.counted;
    return api::Json::object({{"status", std::move(status)}});
}

}  // namespace lifecycle
