#include "plugins/gang/gang.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <map>
#include <set>

#include "api/condition.hpp"
#include "api/names.hpp"
#include "build/pod_sets.hpp"
#include "resources/pod_requests.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

namespace resources = api::resources;

// Each is a request to the API server in every reconcile that builds; a cluster has a handful.
constexpr std::size_t most_runtime_classes = 32;

constexpr std::string_view condition_names[] = {"GangReady"};
constexpr std::string_view pod_scheduled = "PodScheduled";  // of a Pod

// Returns the overhead and defaults of the Pods of each RuntimeClass.
std::map<std::string_view, const Json*> overheads(const std::vector<Json>& observed) {
    std::map<std::string_view, const Json*> found;
    for (const Json& object : observed)
        if (is_of(resources::runtime_classes, object))
            found.emplace(object["metadata"]["name"].as_string(), &object["overhead"]["podFixed"]);
    return found;
}

using Indexes = std::vector<std::size_t>;

// For each job, the jobs that it names. A job may depend on earlier ones only.
std::vector<Indexes> direct_dependencies(const Json& jobs) {
    std::vector<Indexes> all;
    std::map<std::string_view, std::size_t> earlier;
    for (const Json& job : jobs.items()) {
        std::set<std::size_t> named;
        for (const Json& dependency : job["dependsOn"].items())
            if (const auto at = earlier.find(dependency["name"].as_string()); at != earlier.end())
                named.insert(at->second);
        earlier.emplace(job["name"].as_string(), all.size());
        all.emplace_back(named.begin(), named.end());
    }
    return all;
}

bool starts_in_order(const Json& job_set_spec) {
    return job_set_spec["startupPolicy"]["startupPolicyOrder"].as_string() == "InOrder";
}

// Returns the jobs that start together with `first`: those with the same predecessors, direct and indirect. A
// runtime may have thousands.
std::vector<bool> chosen_with(const Json& job_set_spec, std::size_t first) {
    const Json& jobs = job_set_spec["replicatedJobs"];
    std::vector<bool> chosen(jobs.items().size());
    // In order, each job has more predecessors than the one before.
    if (starts_in_order(job_set_spec)) {
        chosen[first] = true;
        return chosen;
    }
    const std::vector<Indexes> direct = direct_dependencies(jobs);
    std::vector<bool> before(chosen.size());
    std::vector<bool> last(chosen.size());  // of the jobs before, those without successors
    std::size_t lasts = 0;
    // Dependencies point backwards, so one walk backwards meets each job after all that depend on it.
    for (const std::size_t index : direct[first]) {
        before[index] = last[index] = true;
        ++lasts;
    }
    for (std::size_t index = first; index-- > 0;) {
        if (!before[index]) continue;
        for (const std::size_t earlier : direct[index]) {
            before[earlier] = true;
            if (last[earlier]) --lasts;
            last[earlier] = false;
        }
    }
    // A job that depends on the last ones depends on all of them.
    for (std::size_t index = 0; index < chosen.size(); ++index) {
        const Indexes& named = direct[index];
        const bool none_else =
            std::all_of(named.begin(), named.end(), [&](auto each) { return before[each]; });
        const auto named_lasts =
            std::count_if(named.begin(), named.end(), [&](auto each) { return last[each]; });
        chosen[index] = none_else && static_cast<std::size_t>(named_lasts) == lasts;
    }
    return chosen;
}

// Returns the jobs that start while the members run: those that wait until members, or other such jobs, are
// ready. One that waits for the end of any of them has the room that this one leaves.
std::vector<bool> following(const Json& job_set_spec, const std::vector<bool>& members, std::size_t first) {
    const auto& jobs = job_set_spec["replicatedJobs"].items();
    std::vector<bool> chosen(jobs.size());
    if (starts_in_order(job_set_spec)) {
        std::fill(chosen.begin() + static_cast<std::ptrdiff_t>(first) + 1, chosen.end(), true);
        return chosen;
    }
    std::vector<bool> after(jobs.size());  // those that start at an end
    std::map<std::string_view, std::size_t> earlier;
    for (std::size_t index = 0; index < jobs.size(); ++index) {
        for (const Json& dependency : jobs[index]["dependsOn"].items()) {
            const auto at = earlier.find(dependency["name"].as_string());
            if (at == earlier.end()) continue;
            const bool beside = members[at->second] || chosen[at->second];
            if (after[at->second] || (beside && dependency["status"].as_string() != "Ready"))
                after[index] = true;
            if (beside) chosen[index] = true;
        }
        if (after[index]) chosen[index] = false;
        earlier.emplace(jobs[index]["name"].as_string(), index);
    }
    return chosen;
}

// Returns how many Pods of a replica need room at the same time.
std::int64_t least_of(const PodSet& pods) {
    return std::max<std::int64_t>(0, pods.least.value_or(pods.count));
}

GangJob gang_job(const PodSet& pods, bool is_member = true) {
    return {.pods = &pods, .is_member = is_member, .count = with_pods(0, pods.replicas, least_of(pods))};
}

api::Result<> check_runtime_classes(const Json& job_set_spec) {
    std::set<std::string_view> classes = {""};
    const auto& jobs = job_set_spec["replicatedJobs"].items();
    for (std::size_t i = 0; i < jobs.size(); ++i)
        if (classes.insert(pod_spec_of(jobs[i])["runtimeClassName"].as_string()).second &&
            classes.size() > most_runtime_classes + 1)
            return api::invalid(pod_spec_path(i) + ".runtimeClassName",
                                "the jobs of a gang have " + std::to_string(most_runtime_classes) +
                                    " different classes at most");
    return {};
}

}  // namespace

void add_request_needs(const NeedsContext& context, Needs& needs) {
    needs.objects.push_back({.resource = resources::limit_ranges, .key = {context.job.meta.ns, ""}});
    std::set<std::string_view> classes;
    for (const Json& job : context.merged_spec["replicatedJobs"].items())
        if (const auto name = pod_spec_of(job)["runtimeClassName"].as_string(); !name.empty())
            classes.insert(name);
    if (classes.size() > most_runtime_classes) return;  // gang_room() reports it
    for (const std::string_view name : classes)
        needs.objects.push_back({.resource = resources::runtime_classes, .key = {.name = std::string(name)}});
}

void add_gang_needs(const NeedsContext& context, const api::Resource& pod_groups, Needs& needs) {
    needs.objects.push_back(
        {.resource = pod_groups, .key = context.job.meta.key(), .apply = ApplyPolicy::with_job_set});
    add_request_needs(context, needs);
}

std::string last_resume(const api::TrainJob& job) {
    const api::Condition* suspended = api::find_condition(job.conditions, api::condition::suspended);
    if (!suspended || suspended->is_true()) return {};
    const auto since = suspended->last_transition.time_since_epoch();
    std::array<char, 16> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(),
                                   std::chrono::duration_cast<std::chrono::seconds>(since).count(), 16);
    return std::string(digits.begin(), end.ptr);
}

Gang started_with(const Info& info, std::size_t first) {
    const std::vector<bool> chosen = chosen_with(info.spec, first);
    Gang gang;
    for (const PodSet& pods : info.pod_sets)
        if (chosen[pods.index]) gang.push_back(gang_job(pods));
    return gang;
}

Gang gang_of(const Json& job_set_spec, const std::vector<PodSet>& pod_sets) {
    Gang gang;
    if (pod_sets.empty()) return gang;
    const auto first_that = [&](auto is_meant) {
        return std::find_if(pod_sets.begin(), pod_sets.end(), is_meant);
    };
    auto first = first_that([](const PodSet& pods) { return pods.name == api::node_container; });
    if (first == pod_sets.end())
        first = first_that([](const PodSet& pods) { return pods.ancestor == api::ancestor_trainer; });
    if (first == pod_sets.end()) first = pod_sets.begin();
    const std::vector<bool> members = chosen_with(job_set_spec, first->index);
    const std::vector<bool> followers = following(job_set_spec, members, first->index);
    for (const PodSet& pods : pod_sets)
        if (members[pods.index] || followers[pods.index]) gang.push_back(gang_job(pods, members[pods.index]));
    return gang;
}

Gang without_done(Gang gang) {
    for (GangJob& each : gang) {
        const PodSet& pods = *each.pods;
        const std::int64_t least = least_of(pods);
        for (const std::int64_t done : pods.done)
            each.count -= least - std::min(least, pods.count - std::min(done, pods.count));
    }
    return gang;
}

std::int64_t members_of(const Gang& gang) {
    std::int64_t members = 0;
    for (const GangJob& each : gang)
        if (each.is_member) members = with_pods(members, 1, each.count);
    return members;
}

namespace {

std::optional<api::Error> empty_gang(std::string_view policy, const api::TrainJob& job,
                                     const Json& job_set_spec, const std::vector<PodSet>& pod_sets) {
    if (members_of(gang_of(job_set_spec, pod_sets)) > 0) return std::nullopt;
    const std::string rule =
        "the runtime's podGroupPolicy." + std::string(policy) + " needs a PodGroup of at least one Pod";
    if (job.spec["trainer"]["numNodes"] == Json(0))
        return api::invalid("spec.trainer.numNodes", "must be at least 1: " + rule);
    return api::invalid("spec.runtimeRef", rule + ", and the runtime's jobs have no replicas");
}

}  // namespace

std::optional<api::Error> empty_gang(std::string_view policy, const Info& info) {
    return empty_gang(policy, info.job, info.spec, info.pod_sets);
}

void refuse_empty_gang(std::string_view policy, const ValidationInputs& review, api::FieldErrors& errors) {
    if (review.merged_spec.is_null()) return;
    const Json& nodes = review.job.spec["trainer"]["numNodes"];
    const auto pod_sets = count_pods(review.merged_spec, review.plugins, nodes.as_int());
    auto error = empty_gang(policy, review.job, review.merged_spec, pod_sets);
    if (!error) return;
    Json value = error->field == "spec.runtimeRef" ? Json(review.job.runtime_ref.name) : nodes;
    errors.push_back({api::FieldErrorType::invalid,
                      std::move(error->field),
                      std::move(value),
                      std::move(error->message),
                      {}});
}

std::string scheduling_problem(const Json& pod) {
    const auto conditions = api::parse_conditions(pod["status"]["conditions"]);
    const api::Condition* scheduled = api::find_condition(conditions, pod_scheduled);
    return scheduled && !scheduled->is_true() ? scheduled->message : "";
}

void set_scheduling_problem(Json& pod, const std::string& problem) {
    Json& conditions = pod["status"]["conditions"];
    if (!conditions.is_array()) conditions = Json::array();
    std::erase_if(conditions.items(),
                  [](const Json& each) { return each["type"].as_string() == pod_scheduled; });
    conditions.push_back(Json::object({{"type", pod_scheduled}, {"status", "False"}, {"message", problem}}));
}

std::string wrong_scheduler(std::string_view policy, std::string_view scheduler, const Json& pod_spec) {
    const std::string_view name = pod_spec["schedulerName"].as_string();
    if (name.empty() || name == scheduler) return {};
    return "\"" + std::string(name) + "\" must be \"" + std::string(scheduler) +
           "\" or unset under podGroupPolicy." + std::string(policy);
}

namespace {

// Returns what is missing of the Pods of a job; "" if nothing is. JobSet counts a Job as active while it has
// Pods that have not ended, and as ready once no Pod of it is missing or unready.
std::string missing_of(const std::string& job, const std::vector<api::JobStatus>& counted) {
    const auto found = std::find_if(counted.begin(), counted.end(),
                                    [&](const api::JobStatus& each) { return each.name == job; });
    const api::JobStatus counts = found == counted.end() ? api::JobStatus() : *found;
    if (counts.active > counts.ready) return "not all Pods of job " + job + " are ready";
    return counts.active + counts.ready + counts.succeeded == 0 ? "no Pod of job " + job + " runs" : "";
}

}  // namespace

std::span<const std::string_view> GangPlugin::condition_types() const { return condition_names; }

void GangPlugin::add_conditions(const ConditionsContext& context,
                                std::vector<api::Condition>& conditions) const {
    const api::JobSet* const job_set = context.job_set;
    if (!job_set || job_set->finished || context.job.suspend || job_set->replicated_jobs.empty()) return;
    const Json& spec = context.runtime["spec"]["template"]["spec"];
    const auto pod_sets = count_pods(spec, context.plugins, context.job.spec["trainer"]["numNodes"].as_int());
    std::string missing;
    for (const GangJob& each : gang_of(spec, pod_sets)) {
        const auto& left_out = job_set->finished_jobs;
        if (!each.is_member || std::find(left_out.begin(), left_out.end(), each.pods->name) != left_out.end())
            continue;
        if (each.pods->least) return;
        if (missing.empty()) missing = missing_of(each.pods->name, job_set->replicated_jobs);
    }
    const bool ready = missing.empty();
    conditions.push_back(
        {.type = std::string(condition_names[0]),
         .status = ready ? "True" : "False",
         .reason = ready ? "PodsReady" : "PodsNotReady",
         .message = ready ? "all Pods of the gang are ready or have succeeded"
                          : missing + ". The Pods of a gang get their nodes together: kubectl trainjob "
                                      "explain says what they wait for"});
}

api::Result<> check_only_gang_policy(const Info& info) {
    std::string chosen;
    for (const auto& [name, policy] : info.pod_group_policy.members()) {
        if (!policy.is_object()) continue;
        if (!chosen.empty())
            return api::invalid("spec.podGroupPolicy",
                                chosen + " and " + std::string(name) + " exclude each other");
        chosen = name;
    }
    return {};
}

const Json& job_set_annotation(const ValidationInputs& review, std::string_view key) {
    const auto& patches = review.job.spec["runtimePatches"].items();
    for (std::size_t i = patches.size(); i-- > 0;)
        if (const Json& value = patches[i]["trainingRuntimeSpec"]["template"]["metadata"]["annotations"][key];
            !value.is_null())
            return value;
    return review.runtime["spec"]["template"]["metadata"]["annotations"][key];
}

api::Result<std::string> only_priority_class(const Json& job_set_spec, std::string_view scheduler) {
    std::string_view chosen;
    const auto& jobs = job_set_spec["replicatedJobs"].items();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const auto name = pod_spec_of(jobs[i])["priorityClassName"].as_string();
        if (name.empty()) continue;
        if (!chosen.empty() && chosen != name)
            return api::invalid(pod_spec_path(i) + ".priorityClassName",
                                "\"" + std::string(name) + "\" differs from \"" + std::string(chosen) +
                                    "\" of an earlier job: under " + std::string(scheduler) +
                                    " all have the same");
        chosen = name;
    }
    return std::string(chosen);
}

api::Result<std::vector<GangRoom>> gang_room(const Inputs& inputs, const Info& info, const Gang& gang) {
    PodDefaults defaults = {.requests = default_requests(inputs.observed)};
    if (auto checked = check_runtime_classes(info.spec); !checked) return checked.error();
    const auto overhead_of = overheads(inputs.observed);
    std::int64_t pods = 0;
    std::vector<GangRoom> rooms;
    for (const GangJob& each : gang) {
        const PodSet& set = *each.pods;
        const Json& spec = pod_spec_of(info.spec["replicatedJobs"][set.index]);
        const auto overhead = overhead_of.find(spec["runtimeClassName"].as_string());
        defaults.overhead = overhead == overhead_of.end() ? Json() : *overhead->second;
        auto requests = pod_requests(spec, defaults);
        if (!requests)
            return api::invalid(pod_spec_path(set.index) + "." + requests.error().field,
                                requests.error().message);
        pods = with_pods(pods, 1, each.count);
        if (pods > std::numeric_limits<std::int32_t>::max())
            return api::invalid("spec.trainer.numNodes", "makes more than 2^31 Pods, which no gang can have");
        rooms.push_back({.job = each, .requests = std::move(*requests)});
    }
    return rooms;
}

api::Result<Json> make_pod_group(const Inputs& inputs, const Info& info, const Gang& gang,
                                 const api::Resource& pod_groups) {
    const auto rooms = gang_room(inputs, info, gang);
    if (!rooms) return rooms.error();
    ResourceList sum;
    for (const GangRoom& room : *rooms)
        for (const auto& [name, quantity] : room.requests) sum[name] += room.job.count * quantity;
    Json group = Json::object({{"apiVersion", api_version(pod_groups)}, {"kind", pod_groups.kind}});
    group["metadata"]["name"] = info.job.meta.name;
    group["spec"]["minMember"] = members_of(gang);
    for (const auto& [name, quantity] : sum) group["spec"]["minResources"][name] = to_string(quantity);
    return group;
}

}  // namespace runtime
