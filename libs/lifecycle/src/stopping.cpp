#include "lifecycle/stopping.hpp"

#include <algorithm>

#include "api/names.hpp"

namespace lifecycle {
namespace {

using api::Json;

bool has_condition(const Json& job, std::string_view type) {
    const auto& conditions = job["status"]["conditions"].items();
    return std::any_of(conditions.begin(), conditions.end(), [&](const Json& each) {
        return each["type"].as_string() == type && each["status"].as_string() == "True";
    });
}

std::int64_t pods_of(const Json& job) {
    const Json& status = job["status"];
    return status["active"].int_or(0) + status["terminating"].int_or(0);
}

// The Job controller sets the condition when it ends the Pods. A Job that has never run has none.
bool is_at_rest(const Json& job) {
    if (pods_of(job) > 0) return false;
    if (has_condition(job, "Complete") || has_condition(job, "Failed")) return true;
    if (!job["spec"]["suspend"].bool_or(false)) return false;
    return job["status"]["startTime"].is_null() || has_condition(job, "Suspended");
}

}  // namespace

Stopping stopping(const api::JobSet& job_set, const std::vector<Json>& jobs) {
    Stopping found;
    for (const Json& job : jobs) {
        const api::ObjectMeta meta = api::parse_meta(job);
        if (meta.controller_uid != job_set.meta.uid || is_at_rest(job)) continue;
        if (found.jobs == 0) found.first = "Job " + to_string(meta.key());
        ++found.jobs;
        found.pods += pods_of(job);
    }
    return found;
}

std::string describe(const Stopping& stopping) {
    std::string text = "The job goes on once its Pods of before have ended: ";
    if (stopping.pods > 0) text += std::to_string(stopping.pods) + " of ";
    text += stopping.first;
    if (stopping.jobs > 1) text += " and " + std::to_string(stopping.jobs - 1) + " more";
    return text;
}

std::string stops_first(const api::TrainJob& job) {
    return "The job goes on once its Pods of before have ended: kubectl get pods -n " + job.meta.ns + " -l " +
           std::string(api::job_set_name_label) + "=" + job.meta.name;
}

std::chrono::seconds next_look_at_stopping(api::Time resumed, api::Time now) {
    using std::chrono::seconds;
    return std::clamp(std::chrono::floor<seconds>(now - resumed) / 4, seconds(1), seconds(10));
}

}  // namespace lifecycle
