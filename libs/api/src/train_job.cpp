#include "api/train_job.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "api/names.hpp"

namespace api {
namespace {

// An absent value or null gets the CRD's default, as in the API server. Objects from files lack defaults.
std::string string_or(const Json& value, std::string_view fallback) {
    return std::string(value.is_string() ? value.as_string() : fallback);
}

constexpr std::int64_t most_restarts = std::numeric_limits<std::int32_t>::max();

std::int64_t as_count(std::int64_t value) { return std::clamp<std::int64_t>(value, 0, most_restarts); }

TrainJob parse_all_but_spec(const Json& object) {
    const Json& spec = object["spec"];
    TrainJob job;
    job.meta = parse_meta(object);
    job.runtime_ref = parse_runtime_ref(spec);
    job.suspend = spec["suspend"].bool_or(false);
    job.active_deadline_seconds = spec["activeDeadlineSeconds"].as_int();
    if (const auto ttl = spec["ttlSecondsAfterFinished"].as_int(); ttl && *ttl >= 0)
        job.ttl_seconds_after_finished = ttl;
    job.managed_by = string_or(spec["managedBy"], managed_by_this_controller);
    const Json& labels = object["metadata"]["labels"];
    job.queue = labels[queue_label].as_string();
    job.is_multikueue_copy = labels.contains(multikueue_label);
    job.progress_annotations = parse_progress_annotations(object["metadata"]["annotations"]);
    const Json& status = object["status"];
    job.conditions = parse_conditions(status["conditions"]);
    job.jobs_status = parse_jobs_status(status["jobsStatus"]);
    if (const Json& policy = status["runPolicy"]; policy.is_object())
        job.run_policy = parse_run_policy(policy);
    job.runtime_digest = status["runtimeDigest"].as_string();
    job.start_time = as_time(status["startTime"].as_string());
    job.completion_time = as_time(status["completionTime"].as_string());
    job.restarts = parse_restarts(status);
    job.failures = parse_failures(status["failures"]);
    job.attempt = {.began = as_time(status["attemptStartTime"].as_string()),
                   .next = as_time(status["nextAttemptTime"].as_string()),
                   .failures = as_count(status["consecutiveFailures"].int_or(0)),
                   .uncounted_failures = as_count(status["consecutiveUncounted"].int_or(0))};
    job.trainer_status = parse_trainer_status(status["trainerStatus"]);
    return job;
}

}  // namespace

RuntimeRef parse_runtime_ref(const Json& spec) {
    const Json& ref = spec["runtimeRef"];
    return {.api_group = string_or(ref["apiGroup"], trainer_group),
            .kind = string_or(ref["kind"], cluster_training_runtime_kind),
            .name = string_or(ref["name"], "")};
}

bool is_supported(const RuntimeRef& ref) {
    return ref.api_group == trainer_group &&
           (ref.kind == training_runtime_kind || ref.kind == cluster_training_runtime_kind);
}

TrainJob parse_train_job(const Json& object) {
    TrainJob job = parse_all_but_spec(object);
    job.spec = object["spec"];
    return job;
}

TrainJob parse_train_job(Json&& object) {
    Json taken = std::move(object);  // frees the rest at the return
    TrainJob job = parse_all_but_spec(taken);
    if (Json* spec = taken.find("spec")) job.spec = std::move(*spec);
    return job;
}

bool any_active(const std::vector<JobStatus>& jobs) {
    return std::any_of(jobs.begin(), jobs.end(), [](const JobStatus& job) { return job.active > 0; });
}

Restarts parse_restarts(const Json& status) {
    return {.all = as_count(status["restarts"].int_or(0)),
            .counted = as_count(status["restartsCountTowardsMax"].int_or(0))};
}

Restarts parse_restarts_before(std::string_view text) {
    const char* const end = text.data() + text.size();
    Restarts restarts;
    const auto [comma, failed] = std::from_chars(text.data(), end, restarts.all);
    if (failed != std::errc() || comma == end || *comma != ',') return {};
    const auto [rest, failed_too] = std::from_chars(comma + 1, end, restarts.counted);
    if (failed_too != std::errc() || rest != end) return {};
    return {.all = as_count(restarts.all), .counted = as_count(restarts.counted)};
}

std::string restarts_before_text(const Restarts& restarts) {
    return std::to_string(restarts.all) + "," + std::to_string(restarts.counted);
}

Restarts operator+(const Restarts& left, const Restarts& right) {
    return {.all = as_count(left.all + right.all), .counted = as_count(left.counted + right.counted)};
}

std::vector<JobStatus> parse_jobs_status(const Json& list) {
    std::vector<JobStatus> jobs;
    jobs.reserve(list.items().size());
    for (const Json& item : list.items())
        jobs.push_back({.name = std::string(item["name"].as_string()),
                        .ready = item["ready"].int_or(0),
                        .succeeded = item["succeeded"].int_or(0),
                        .failed = item["failed"].int_or(0),
                        .active = item["active"].int_or(0),
                        .suspended = item["suspended"].int_or(0)});
    return jobs;
}

Json to_json_tree(const std::vector<JobStatus>& jobs) {
    Json list = Json::array();
    for (const JobStatus& job : jobs)
        list.push_back(Json::object({{"name", job.name},
                                     {"ready", job.ready},
                                     {"succeeded", job.succeeded},
                                     {"failed", job.failed},
                                     {"active", job.active},
                                     {"suspended", job.suspended}}));
    return list;
}

std::int64_t num_nodes(const TrainJob& job) {
    return job.spec["trainer"]["numNodes"].int_or(nodes_of_runtime);
}

bool is_managed_here(const TrainJob& job) {
    return job.managed_by.empty() || job.managed_by == managed_by_this_controller;
}

bool may_be_corrected(const TrainJob& stored) {
    const Condition* created = find_condition(stored.conditions, condition::created);
    const bool has_begun = !stored.runtime_digest.empty() || !stored.jobs_status.empty();
    return is_managed_here(stored) && created && created->status == "False" && !has_begun;
}

const Condition* terminal_condition(const TrainJob& job) {
    for (const std::string_view type : {condition::complete, condition::failed})
        if (const Condition* found = find_condition(job.conditions, type); found && found->is_true())
            return found;
    return nullptr;
}

}  // namespace api
