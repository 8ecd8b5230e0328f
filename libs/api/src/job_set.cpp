#include "api/job_set.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "api/job_set_names.hpp"
#include "api/names.hpp"
#include "api/text.hpp"

namespace api {
namespace {

// "sha256:" and 32 bytes in hex.
constexpr std::size_t longest_digest = 71;
constexpr std::size_t longest_inputs = 34;
constexpr std::size_t most_excluded_nodes = 5;

struct Group {
    std::string_view name;
    std::int64_t replicas;
    JobStatus counts;
};

using Groups = std::map<std::string_view, const Group*>;

std::int64_t started(const JobStatus& counts) { return counts.ready + counts.succeeded + counts.failed; }

// The same decision as in JobSet's controller.
bool may_start(const Json& dependencies, const Groups& groups) {
    const auto& all = dependencies.items();
    return std::all_of(all.begin(), all.end(), [&](const Json& dependency) {
        const auto at = groups.find(dependency["name"].as_string());
        if (at == groups.end()) return false;
        const auto& [name, replicas, counts] = *at->second;
        const bool completes = dependency["status"].as_string() == "Complete";
        return (completes ? counts.succeeded : started(counts)) == replicas;
    });
}

std::vector<Group> groups_of(const Json& jobs, const std::vector<JobStatus>& counts) {
    std::map<std::string_view, const JobStatus*> by_name;
    for (const JobStatus& each : counts) by_name.emplace(each.name, &each);
    std::vector<Group> groups;
    for (const Json& job : jobs.items()) {
        const std::string_view name = job["name"].as_string();
        const auto found = by_name.find(name);
        groups.push_back(
            {name, job["replicas"].int_or(1), found == by_name.end() ? JobStatus() : *found->second});
    }
    return groups;
}

// Sets `lacks_pods` and `waits_for_others`.
void find_missing(const Json& spec, JobSet& job_set) {
    const auto& jobs = spec["replicatedJobs"].items();
    const std::vector<Group> groups = groups_of(spec["replicatedJobs"], job_set.replicated_jobs);
    Groups by_name;
    for (const Group& group : groups) by_name.emplace(group.name, &group);
    const bool in_order = spec["startupPolicy"]["startupPolicyOrder"].as_string() == "InOrder";
    bool is_its_turn = true;
    job_set.all_started =
        !groups.empty() && std::all_of(groups.begin(), groups.end(), [](const Group& group) {
            return started(group.counts) >= group.replicas;
        });
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const auto& [name, replicas, has] = groups[i];
        const std::int64_t running = has.active + has.succeeded + has.failed;
        if (!is_its_turn || !may_start(jobs[i]["dependsOn"], by_name)) {
            if (running + has.suspended < replicas) job_set.waits_for_others = true;
            continue;
        }
        const std::int64_t present = job_set.suspend ? running + has.suspended : running;
        if (present < replicas && job_set.lacks_pods.empty()) job_set.lacks_pods = std::string(name);
        if (in_order && started(has) != replicas) is_its_turn = false;
    }
}

// Reads "a,b". Users can edit it.
std::vector<std::string> names_in(std::string_view note, std::size_t most) {
    std::vector<std::string> names;
    while (!note.empty() && names.size() < most) {
        const std::string_view name = take_item(note);
        if (!name.empty() && name.size() <= 253) names.emplace_back(name);
    }
    return names;
}

std::optional<bool> written_suspend(const Json& annotations) {
    const std::string_view note = annotations[written_suspend_annotation].as_string();
    if (note != "true" && note != "false") return std::nullopt;
    return note == "true";
}

}  // namespace

bool is_applied_here(const Json& object) {
    return !object["metadata"]["annotations"][applied_hash_annotation].is_null();
}

bool is_taken_over(const Json& job_set) {
    return !is_applied_here(job_set) || job_set["metadata"]["annotations"].contains(taken_over_annotation);
}

AppliedNote applied_note(const Json& object) {
    std::string_view rest = object["metadata"]["annotations"][applied_hash_annotation].as_string();
    const auto take_until = [&rest](char end) {
        const std::string_view part = rest.substr(0, rest.find(end));
        rest.remove_prefix(std::min(part.size() + 1, rest.size()));
        return part;
    };
    const std::string_view hashes = take_until(' ');
    AppliedNote note = {.placement = rest};
    rest = hashes;
    note.hash = take_until('.');
    note.fixed_part = take_until('.');
    note.source = take_until('.');
    note.nodes = take_until('.');
    note.runtime = take_until('.');
    note.inputs = rest;
    return note;
}

std::optional<std::int64_t> noted_nodes(const Json& job_set) {
    const std::string_view note = applied_note(job_set).nodes;
    if (note == "-") return nodes_of_runtime;
    std::int64_t nodes = 0;
    const auto [end, error] = std::from_chars(note.data(), note.data() + note.size(), nodes);
    // Users can edit it.
    if (error != std::errc() || end != note.data() + note.size() || nodes < 0) return std::nullopt;
    return nodes;
}

std::string nodes_note(const TrainJob& job) {
    const std::int64_t nodes = num_nodes(job);
    return nodes == nodes_of_runtime ? "-" : std::to_string(nodes);
}

std::string noted_runtime(const Json& job_set) {
    const std::string_view note = applied_note(job_set).runtime;
    return std::string(note.size() <= longest_digest ? note : "");
}

std::string noted_inputs(const Json& job_set) {
    const std::string_view note = applied_note(job_set).inputs;
    return std::string(note.size() <= longest_inputs ? note : "");
}

JobSet parse_job_set(const Json& object) {
    JobSet job_set;
    job_set.meta = parse_meta(object);
    job_set.applied_here = is_applied_here(object);
    job_set.taken_over = is_taken_over(object);
    job_set.built_for_nodes = noted_nodes(object);
    job_set.runtime_digest = noted_runtime(object);
    job_set.built_from = noted_inputs(object);
    job_set.suspend = object["spec"]["suspend"].bool_or(false);
    for (Condition& condition : parse_conditions(object["status"]["conditions"])) {
        if (condition.is_true() && condition.type == "RestartingJobSet")
            job_set.restart_message = condition.message;
        if (condition.is_true() && (condition.type == "Completed" || condition.type == "Failed"))
            job_set.finished = std::move(condition);
        else if (condition.type == condition::suspended)
            job_set.suspended = std::move(condition);
    }
    const Json& annotations = object["metadata"]["annotations"];
    job_set.restarts_before = parse_restarts_before(annotations[restarts_before_annotation].as_string());
    job_set.restarts = job_set.restarts_before + parse_restarts(object["status"]);
    job_set.is_attempt = annotations.contains(attempt_annotation);
    job_set.excluded_nodes =
        names_in(annotations[excluded_nodes_annotation].as_string(), most_excluded_nodes);
    job_set.finished_jobs = names_in(annotations[finished_jobs_annotation].as_string(), most_finished_jobs);
    job_set.max_restarts = object["spec"]["failurePolicy"]["maxRestarts"].as_int();
    job_set.replicated_jobs = parse_jobs_status(object["status"]["replicatedJobsStatus"]);
    find_missing(object["spec"], job_set);
    job_set.service = job_set_names::service(job_set.meta.name, object["spec"]);
    job_set.queue = object["metadata"]["labels"][queue_label].as_string();
    job_set.written_suspend = written_suspend(annotations);
    return job_set;
}

std::string queue_of_job_sets(const Json& runtime) {
    return std::string(runtime["spec"]["template"]["metadata"]["labels"][queue_label].as_string());
}

}  // namespace api
