#include "lifecycle/stopping.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

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

// Returns how many numbers a list such as "1,3-5" has (JobStatus.failedIndexes). What cannot be read counts
// as one: nobody else writes it.
std::int64_t size_of_indexes(std::string_view text) {
    std::int64_t size = 0;
    while (!text.empty()) {
        const std::string_view range = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), range.size() + 1));
        const auto number = [](std::string_view digits) {
            std::int32_t read = 0;
            std::from_chars(digits.data(), digits.data() + digits.size(), read);
            return std::int64_t{read};
        };
        const std::size_t dash = range.find('-');
        size += dash == range.npos ? 1 : number(range.substr(dash + 1)) - number(range.substr(0, dash)) + 1;
    }
    return size;
}

std::int64_t done_pods_of(const Json& job) {
    if (is_finished(job)) return std::numeric_limits<std::int64_t>::max();
    const Json& status = job["status"];
    const auto uncounted = status["uncountedTerminatedPods"]["succeeded"].items().size();
    return status["succeeded"].int_or(0) + static_cast<std::int64_t>(uncounted) +
           size_of_indexes(status["failedIndexes"].as_string());
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

api::DonePods done_pods(const api::JobSet& job_set, const std::vector<Json>& jobs) {
    api::DonePods found;
    for (const Json& job : jobs) {
        const api::ObjectMeta meta = api::parse_meta(job);
        if (meta.controller_uid != job_set.meta.uid || meta.deletion) continue;
        const std::int64_t pods = done_pods_of(job);
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
