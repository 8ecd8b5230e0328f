#include "lifecycle/stopping.hpp"

#include <algorithm>

#include "api/names.hpp"
#include "child_job.hpp"

namespace lifecycle {
namespace {

using api::Json;

std::int64_t pods_of(const Json& job) {
    const Json& status = job["status"];
    return status["active"].int_or(0) + status["terminating"].int_or(0);
}

bool is_suspended(const Json& job) { return job["spec"]["suspend"].bool_or(false); }

// Another controller than Kubernetes' own may set no such condition.
bool is_managed_elsewhere(const Json& job) {
    const std::string_view manager = job["spec"]["managedBy"].as_string();
    return !manager.empty() && manager != "kubernetes.io/job-controller";
}

// The Job controller sets the condition when it has told the Pods to end. `startTime` would not do: it is
// stored after the first Pods are made, and JobSet empties it before a resume.
bool is_at_rest(const Json& job) {
    if (pods_of(job) > 0) return false;
    if (is_finished(job)) return true;
    if (!is_suspended(job)) return false;
    const bool has_never_run = job["metadata"]["generation"].int_or(0) <= 1;
    return has_never_run || has_true_condition(job, "Suspended") || is_managed_elsewhere(job);
}

}  // namespace

Stopping stopping(const api::JobSet& job_set, const std::vector<Json>& jobs) {
    Stopping found;
    for (const Json& job : jobs) {
        const api::ObjectMeta meta = api::parse_meta(job);
        if (meta.controller_uid != job_set.meta.uid || is_at_rest(job)) continue;
        if (found.jobs == 0)
            found.first = "Job " + to_string(meta.key()) +
                          (is_suspended(job) ? "" : ", which its JobSet has not suspended yet");
        ++found.jobs;
        found.pods += pods_of(job);
    }
    return found;
}

api::SucceededPods succeeded_pods(const api::JobSet& job_set, const std::vector<Json>& jobs) {
    api::SucceededPods found;
    for (const Json& job : jobs) {
        const api::ObjectMeta meta = api::parse_meta(job);
        if (meta.controller_uid != job_set.meta.uid) continue;
        const Json& status = job["status"];
        const auto uncounted = status["uncountedTerminatedPods"]["succeeded"].items().size();
        const std::int64_t pods = status["succeeded"].int_or(0) + static_cast<std::int64_t>(uncounted);
        const auto name = job["metadata"]["labels"][api::replicated_job_label].as_string();
        if (pods > 0) found[std::string(name)].push_back(pods);
    }
    return found;
}

std::string describe(const Stopping& stopping) {
    std::string text = "The job goes on once its Pods of before have ended: ";
    if (stopping.pods > 0) text += std::to_string(stopping.pods) + " of ";
    text += stopping.first;
    if (stopping.jobs > 1) text += ", and of " + std::to_string(stopping.jobs - 1) + " more";
    return text;
}

std::string stops_first(const api::TrainJob& job) {
    return "The job goes on once its Pods of before have ended: kubectl get pods -n " + job.meta.ns + " -l " +
           std::string(api::job_set_name_label) + "=" + job.meta.name;
}

std::chrono::seconds next_look_at_stopping(const RetryState& retry_state, api::Time now) {
    using namespace std::chrono_literals;
    const auto& stall = retry_state.stall;
    if (!stall || stall->reason != api::reason::waiting_for_pods) return 1s;
    const auto waited = std::chrono::floor<std::chrono::seconds>(now - stall->since);
    return std::clamp(waited / 4, 1s, waited < 5min ? 10s : 60s);
}

}  // namespace lifecycle
