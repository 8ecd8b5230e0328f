// Checks at the end of a scenario.
#include <algorithm>
#include <map>

#include "acts.hpp"
#include "api/job_set.hpp"
#include "api/meta.hpp"
#include "api/yaml.hpp"

namespace model {
namespace {

Json parsed(const std::string& text) { return api::parse_json(text).value(); }

// Returns the trainer's job.
const Json* first_job(const World& world) {
    const Stored* job = world.api.find("jobs.batch", {the_job.ns, "job-node-0"});
    return job ? &job->object : nullptr;
}

bool has_failed(const api::JobSet& attempt) {
    return attempt.is_attempt && attempt.finished && attempt.finished->type == "Failed";
}

}  // namespace

Check job_set_has(const char* member, Json value) {
    return [member = std::string(member), value](const World& world) -> std::string {
        const Stored* set = world.api.find("jobsets.jobset.x-k8s.io", the_job);
        const Json found =
            set ? set->object["spec"]["replicatedJobs"][std::size_t{0}]["template"]["spec"][member] : Json();
        return found == value ? "" : member + " of the JobSet is " + to_json(found);
    };
}

Check pods_have(Json labels, Json node_selector) {
    return [=](const World& world) -> std::string {
        const Json* job = first_job(world);
        if (!job) return "there is no Job";
        const Json& pod = (*job)["spec"]["template"];
        if (pod["metadata"]["labels"] != labels)
            return "the labels of the pods are " + to_json(pod["metadata"]["labels"]);
        if (pod["spec"]["nodeSelector"] != node_selector)
            return "the nodeSelector of the pods is " + to_json(pod["spec"]["nodeSelector"]);
        return "";
    };
}

Check pods_claim_devices() {
    return [](const World& world) -> std::string {
        const Json* job = first_job(world);
        if (!job) return "there is no Job";
        const Json& pod = (*job)["spec"]["template"]["spec"];
        const Json& used = pod["containers"][std::size_t{0}]["resources"]["claims"];
        if (pod["resourceClaims"].empty()) return "the pods have no claim of devices";
        return used.empty() ? "no container uses the claim of devices" : "";
    };
}

Check unless_never_changed(Check check) {
    return [check = std::move(check)](const World& world) {
        const Stored* set = world.api.find("jobsets.jobset.x-k8s.io", the_job);
        const bool as_it_was_made = set && api::parse_meta(set->object).generation == 1;
        return as_it_was_made ? std::string() : check(world);
    };
}

Check image_is(const std::string& image) {
    return [image](const World& world) -> std::string {
        const Json* job = first_job(world);
        if (!job) return "there is no Job";
        const Json& found = (*job)["spec"]["template"]["spec"]["containers"][std::size_t{0}]["image"];
        return found.as_string() == image ? "" : "the image of the pods is " + to_json(found);
    };
}

Check affinity_is(const std::string& zone) {
    return [zone](const World& world) -> std::string {
        const Json* job = first_job(world);
        if (!job) return "there is no Job";
        const Json& found = (*job)["spec"]["template"]["spec"]["affinity"]["zone"];
        return found.as_string() == zone ? "" : "the affinity of the pods is " + to_json(found);
    };
}

Check where_made(Check check) {
    return [check = std::move(check)](const World& world) {
        return world.api.find("jobsets.jobset.x-k8s.io", the_job) ? check(world) : std::string();
    };
}

Check runs_as_it_says() {
    return [](const World& world) -> std::string {
        const Stored* job = world.api.find("trainjobs.trainer.kubeflow.org", the_job);
        const Stored* set = world.api.find("jobsets.jobset.x-k8s.io", the_job);
        if (!job || !set) return "";
        const Json& made = set->object["spec"]["replicatedJobs"][std::size_t{0}]["template"]["spec"];
        const Json& trainer = job->object["spec"]["trainer"];
        const Json& image = made["template"]["spec"]["containers"][std::size_t{0}]["image"];
        if (image != trainer["image"]) return "the image is " + to_json(image);
        const Json& nodes = made["parallelism"];
        if (trainer.contains("numNodes") && nodes != trainer["numNodes"])
            return "it has " + to_json(nodes) + " nodes";
        return "";
    };
}

Check never_refused() {
    return [](const World& world) -> std::string {
        return world.invariants.events().contains("JobsCreationFailed") ? "the job was refused meanwhile"
                                                                        : "";
    };
}

Check made_at_most(int count) {
    return [count](const World& world) -> std::string {
        int made = 0;
        for (const Change& change : world.api.history("jobsets.jobset.x-k8s.io"))
            made += change.type == Change::Type::added;
        return made <= count ? "" : "there were " + std::to_string(made) + " JobSets";
    };
}

Check same_job_set() {
    return [](const World& world) -> std::string {
        const auto& history = world.api.history("jobsets.jobset.x-k8s.io");
        const auto removed = std::any_of(history.begin(), history.end(), [](const Change& change) {
            return change.type == Change::Type::deleted;
        });
        return removed ? "its JobSet was deleted" : "";
    };
}

Check owns_no_defaults() {
    return [](const World& world) -> std::string {
        const Stored* job_set = world.api.find("jobsets.jobset.x-k8s.io", the_job);
        if (!job_set) return "";
        for (const auto& [manager, fields] : job_set->managers)
            if (manager.applies && to_json(to_json_tree(fields)).find("completionMode") != std::string::npos)
                return "the defaults of its JobSet belong to " + manager.name;
        return "";
    };
}

Check jobs_went_with_their_pods() {
    return [](const World& world) -> std::string {
        for (const Change& change : world.api.history("jobs.batch"))
            if (change.type == Change::Type::deleted &&
                change.text->find("\"deletionTimestamp\"") == std::string::npos)
                return "Job " + change.key.name + " was deleted without its Pods";
        return "";
    };
}

Check restarted(const char* want) {
    return [want](const World& world) -> std::string {
        const Stored* stored = world.api.find("trainjobs.trainer.kubeflow.org", the_job);
        if (!stored) return "";
        const std::string is = api::restarts_before_text(api::parse_restarts(stored->object["status"]));
        return is == want ? "" : "its restarts are " + is;
    };
}

Check counts_all_restarts() {
    return [](const World& world) -> std::string {
        const Stored* stored = world.api.find("trainjobs.trainer.kubeflow.org", the_job);
        if (!stored) return "";
        const api::TrainJob job = api::parse_train_job(stored->object);
        std::map<std::string, std::int64_t> restarts;  // by the JobSet's UID
        for (const Change& change : world.api.history("jobsets.jobset.x-k8s.io")) {
            const Json object = parsed(*change.text);
            const api::JobSet job_set = api::parse_job_set(object);
            std::int64_t& most = restarts[job_set.meta.uid];
            most =
                std::max({most, object["status"]["restarts"].int_or(0), std::int64_t{has_failed(job_set)}});
        }
        std::int64_t all = 0;
        for (const auto& [uid, count] : restarts) all += count;
        // The last attempt may end the job, and does not count then.
        const Stored* stored_last = world.api.find("jobsets.jobset.x-k8s.io", the_job);
        const api::JobSet last = stored_last ? api::parse_job_set(stored_last->object) : api::JobSet();
        all -= has_failed(last) && job.restarts.all == last.restarts.all;
        return job.restarts.all == all ? ""
                                       : "its status has " + std::to_string(job.restarts.all) +
                                             " restarts of " + std::to_string(all);
    };
}

Check avoids(const std::string& node) {
    return [node](const World& world) -> std::string {
        const Stored* set = world.api.find("jobsets.jobset.x-k8s.io", the_job);
        if (!set) return "there is no JobSet";
        const api::JobSet job_set = api::parse_job_set(set->object);
        if (job_set.excluded_nodes != std::vector{node})
            return "its JobSet does not note that it avoids " + node;
        const Json* job = first_job(world);
        if (!job) return "there is no Job";
        const Json& affinity = (*job)["spec"]["template"]["spec"]["affinity"]["nodeAffinity"];
        const Json& term = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
        const Json wanted =
            Json::object({{"key", "metadata.name"}, {"operator", "NotIn"}, {"values", Json::array({node})}});
        const Json& fields = term[std::size_t{0}]["matchFields"];
        return fields == Json::array({wanted}) ? "" : "its Pods do not avoid " + node;
    };
}

Check tells_of_pods() {
    return [](const World& world) -> std::string {
        const Stored* stored = world.api.find("trainjobs.trainer.kubeflow.org", the_job);
        if (!stored) return "";
        for (const api::Failure& failure : api::parse_train_job(stored->object).failures)
            if (failure.pod.empty()) return "its status tells of a failure without a Pod";
        return "";
    };
}

Check keeps_claim() {
    return [](const World& world) -> std::string {
        const api::ObjectKey key = {the_job.ns, "data-" + the_job.name};
        const Stored* claim = world.api.find("persistentvolumeclaims", key);
        const auto& history = world.api.history("persistentvolumeclaims");
        const bool is_first = claim && std::none_of(history.begin(), history.end(), [](const Change& change) {
                                  return change.type == Change::Type::deleted;
                              });
        return is_first ? "" : "it has not the volume claim that it began with";
    };
}

Check jobs_deleted_at_most(int count) {
    return [count](const World& world) -> std::string {
        const auto& history = world.api.history("jobs.batch");
        const auto deleted = std::count_if(history.begin(), history.end(), [](const Change& change) {
            return change.type == Change::Type::deleted;
        });
        return deleted <= count ? "" : std::to_string(deleted) + " Jobs were deleted";
    };
}

Check initialized_once() {
    return [](const World& world) -> std::string {
        const api::ObjectKey key = {the_job.ns, "job-init-0"};
        const auto& history = world.api.history("jobs.batch");
        const Stored* job = world.api.find("jobs.batch", key);
        if (!job || job->object["status"]["succeeded"].int_or(0) != 1) return "it was not initialized";
        // A Job that has not run yet may be replaced.
        int ended = 0;
        for (const Change& change : history)
            ended += change.key == key && change.type == Change::Type::deleted &&
                     change.text->find("\"Complete\"") != std::string::npos;
        return ended == 0 ? "" : "its initializer ran again";
    };
}

Check all_of(std::vector<Check> checks) {
    return [checks = std::move(checks)](const World& world) {
        std::string wrong;
        for (const Check& check : checks)
            if (wrong.empty()) wrong = check(world);
        return wrong;
    };
}

Check runs_as_its_snapshot() {
    return [](const World& world) -> std::string {
        const Stored* map = world.api.find("configmaps", {the_job.ns, the_job.name + "-runtime-snapshot"});
        if (!map) return "there is no snapshot";
        const Json runtime = api::parse_yaml(map->object["data"]["runtime"].as_string()).value();
        return job_set_has("parallelism", runtime["spec"]["mlPolicy"]["numNodes"])(world);
    };
}

Check made_by(std::chrono::seconds after_start) {
    return [after_start](const World& world) -> std::string {
        const Stored* set = world.api.find("jobsets.jobset.x-k8s.io", the_job);
        if (!set) return "there is no JobSet";
        const api::Time at = api::parse_meta(set->object).creation;
        const auto start = std::chrono::floor<std::chrono::seconds>(VirtualTime::wall_start);
        return at <= start + after_start ? "" : "the JobSet was made as late as " + api::format_time(at);
    };
}

}  // namespace model
