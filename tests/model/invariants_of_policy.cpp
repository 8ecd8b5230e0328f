// What a job began with, its times, and its end by a TTL.
#include <algorithm>

#include "api/job_set.hpp"
#include "api/names.hpp"
#include "api/yaml.hpp"
#include "invariants.hpp"

namespace model {

using api::Json;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view train_jobs_name = "trainjobs.trainer.kubeflow.org";
constexpr std::string_view job_sets_name = "jobsets.jobset.x-k8s.io";
// The longest time until everything is done if nothing fails.
constexpr std::chrono::seconds promptly{3};

std::string text(const api::ObjectKey& key) { return api::to_string(key); }

bool is_namespaced(const api::TrainJob& job) { return job.runtime_ref.kind == api::training_runtime_kind; }

std::string runtime_resource_of(const api::TrainJob& job) {
    return is_namespaced(job) ? "trainingruntimes.trainer.kubeflow.org"
                              : "clustertrainingruntimes.trainer.kubeflow.org";
}

api::ObjectKey runtime_of(const api::TrainJob& job) {
    return {is_namespaced(job) ? job.meta.ns : "", job.runtime_ref.name};
}

}  // namespace

// By the snapshot that its first JobSet was made from. What was taken over gets one later.
void Invariants::note_beginning(const Kind& kind, const api::ObjectKey& key, const Json& after) {
    constexpr std::string_view ending = "-runtime-snapshot";
    const bool is_snapshot = kind.kind == "ConfigMap" && key.name.ends_with(ending);
    if (after.is_null() || (kind.kind != "JobSet" && !is_snapshot)) return;
    const std::string uid = api::parse_meta(after).controller_uid;
    const auto life = lives_.find(uid);
    if (life == lives_.end() || life->second.began_with) return;
    const std::string name = is_snapshot ? key.name.substr(0, key.name.size() - ending.size()) : key.name;
    const Stored* job_set = api_.find(job_sets_name, {key.ns, name});
    const Stored* snapshot = api_.find("configmaps", {key.ns, name + std::string(ending)});
    const auto is_its_own = [&](const Stored* stored) {
        return stored && api::parse_meta(stored->object).controller_uid == uid;
    };
    if (!is_its_own(job_set) || !is_its_own(snapshot) || forged_snapshots_.contains(snapshot->uid())) return;
    if (const auto runtime = api::parse_yaml(snapshot->object["data"]["runtime"].as_string()))
        life->second.began_with = api::run_policy_of(*runtime);
}

// By the job's runtime within the last half minute; empty entries: it was gone.
std::vector<std::optional<api::RunPolicy>> Invariants::lately_said(const api::TrainJob& job) {
    std::vector<std::optional<api::RunPolicy>> said;
    const auto known = policies_.find({runtime_resource_of(job), runtime_of(job)});
    if (known == policies_.end()) return {std::nullopt};
    for (const Policy& policy : known->second)
        if (policy.until >= time_.wall_seconds() - 30s) said.push_back(policy.said);
    return said;
}

// A status tells what the job began with, and times that follow from its conditions.
void Invariants::check_policy_and_times(const api::TrainJob& before, const api::TrainJob& after) {
    const std::string name = text(after.meta.key());
    const Life& life = lives_[after.meta.uid];
    const bool had_ended = api::terminal_condition(before) != nullptr;
    const api::Condition* ended = api::terminal_condition(after);
    if (had_ended && before.run_policy != after.run_policy)
        complain("what the ended " + name + " began with was changed");
    if (!had_ended && life.began_with && after.run_policy && *life.began_with != *after.run_policy &&
        api::is_true(after.conditions, api::condition::created))
        complain("the status of " + name + " tells of another beginning");
    if (unharmed && !had_ended && life.began_with && !after.run_policy)
        complain("the status of " + name + " does not tell what it began with");
    const api::Condition* suspended = api::find_condition(after.conditions, api::condition::suspended);
    const bool rests = suspended && suspended->is_true();
    // Of one that ended before its suspension was stored, the start may be known or not.
    const bool ended_first = rests && ended && suspended->last_transition >= ended->last_transition;
    if (!had_ended && !ended_first && rests == after.start_time.has_value())
        complain("the status of " + name + (rests ? " has a start while it is suspended" : " has no start"));
    if (after.start_time && after.start_time != life.resumed.value_or(after.meta.creation))
        complain("the status of " + name + " has a wrong start");
    if (!had_ended && after.completion_time != (ended ? std::optional(ended->last_transition) : std::nullopt))
        complain("the status of " + name + " has a wrong time of its end");
}

// The job or its runtime, in the last seconds.
bool Invariants::were_limits_edited(const api::TrainJob& job, std::chrono::milliseconds within) const {
    const api::ObjectKey runtime = runtime_of(job);
    for (const auto& [resource, key] : {std::pair(std::string(train_jobs_name), job.meta.key()),
                                        std::pair(runtime_resource_of(job), runtime)})
        if (const auto at = edited_.find({resource, key});
            at != edited_.end() && time_.now() - at->second <= within)
            return true;
    return false;
}

// A reconciler deletes a job after its own TTL; else after the longer one of what it began with and of what
// its runtime said within the last half minute.
void Invariants::check_expiry(const api::TrainJob& job) {
    const std::string name = text(job.meta.key());
    const api::Condition* ended = api::terminal_condition(job);
    if (!ended) return complain("the unfinished TrainJob " + name + " was deleted");
    const Life& life = lives_[job.meta.uid];
    // What ended unbuilt tells that itself.
    const api::RunPolicy first =
        life.began_with ? *life.began_with : job.run_policy.value_or(api::RunPolicy());
    std::optional<std::int64_t> shortest = job.ttl_seconds_after_finished;
    if (!shortest && life.is_managed_here && first.ttl_seconds_after_finished)
        for (const auto& said : lately_said(job)) {
            const auto now = said ? said->ttl_seconds_after_finished : first.ttl_seconds_after_finished;
            if (!now) continue;
            const std::int64_t longer = std::max(*now, *first.ttl_seconds_after_finished);
            shortest = std::min(shortest.value_or(longer), longer);
        }
    if (!shortest) return complain(name + " was deleted without a TTL");
    const auto over = time_.wall_seconds() - ended->last_transition;
    if (over < std::chrono::seconds(*shortest)) complain(name + " was deleted before its TTL");
    if (unharmed && !were_limits_edited(job, promptly) && over > std::chrono::seconds(*shortest) + promptly)
        complain(name + " was deleted long after its TTL");
}

}  // namespace model
