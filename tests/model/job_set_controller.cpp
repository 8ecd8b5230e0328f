#include <algorithm>
#include <regex>

#include "api/job_set_names.hpp"
#include "api/meta.hpp"
#include "api/names.hpp"
#include "environment.hpp"
#include "kube/client/request.hpp"

namespace model {
namespace {

using api::Json;
using kube::resources::job_sets;
using kube::resources::jobs;
constexpr std::string_view job_sets_name = "jobsets.jobset.x-k8s.io";
constexpr std::string_view attempt_label = "jobset.sigs.k8s.io/restart-attempt";

bool is_deleted(const Json& object) { return object["metadata"].contains("deletionTimestamp"); }

Json condition(const char* type, const char* reason, const char* message, api::Time now) {
    return Json::object({{"type", type},
                         {"status", "True"},
                         {"reason", reason},
                         {"message", message},
                         {"lastTransitionTime", api::format_time(now)}});
}

bool is_of_this_attempt(const Json& job_set, const Json& job) {
    return job["metadata"]["labels"][attempt_label].as_string() ==
           std::to_string(job_set["status"]["restarts"].int_or(0));
}

bool is_owned_by(const Json& job_set, const Json& job) {
    return job["metadata"]["ownerReferences"][std::size_t{0}]["uid"] == job_set["metadata"]["uid"];
}

const Json& failure_of(const Json& job) {
    static const Json none;
    for (const Json& condition : job["status"]["conditions"].items())
        if (condition["type"].as_string() == "Failed" && condition["status"].as_string() == "True")
            return condition;
    return none;
}

bool has_or_is_empty(const Json& list, const Json& value) {
    const auto& items = list.items();
    return items.empty() || std::find(items.begin(), items.end(), value) != items.end();
}

bool matches(const Json& rule, const Json& job) {
    const Json& failure = failure_of(job);
    const auto& patterns = rule["onJobFailureMessagePatterns"].items();
    const bool has_text =
        patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const Json& each) {
            return std::regex_search(std::string(failure["message"].as_string()),
                                     std::regex(std::string(each.as_string())));
        });
    return has_text && has_or_is_empty(rule["onJobFailureReasons"], failure["reason"]) &&
           has_or_is_empty(rule["targetReplicatedJobs"],
                           job["metadata"]["labels"][api::replicated_job_label]);
}

// How the Job controller tells of an eviction: by the rule of the Job that is for it, if there is one.
Json evicted(const Json& job, api::Time now) {
    const auto& rules = job["spec"]["podFailurePolicy"]["rules"].items();
    for (std::size_t i = 0; i < rules.size(); ++i)
        if (rules[i]["onPodConditions"][std::size_t{0}]["type"].as_string() == "DisruptionTarget")
            return condition("Failed", "PodFailurePolicy",
                             ("Pod ns/p has condition DisruptionTarget matching FailJob rule at index " +
                              std::to_string(i))
                                 .c_str(),
                             now);
    return condition("Failed", "BackoffLimitExceeded", "", now);
}

// The first one where the Pod may run.
std::string_view node_of(const Json& pod) {
    const bool avoids_first = to_json(pod["spec"]["affinity"]).find("\"node-1\"") != std::string::npos;
    return avoids_first ? "node-2" : "node-1";
}

// The terminated container of a Pod that has failed, or why its node has refused the Pod.
Json status_of_failed_pod(bool is_refused, api::Time now) {
    if (is_refused) return Json::object({{"phase", "Failed"}, {"reason", "UnexpectedAdmissionError"}});
    Json container = Json::object({{"name", "node"}});
    container["state"]["terminated"] =
        Json::object({{"exitCode", 1}, {"reason", "Error"}, {"finishedAt", api::format_time(now)}});
    return Json::object({{"phase", "Failed"}, {"containerStatuses", Json::array({container})}});
}

void unite_maps(Json& into, const Json& from) {
    for (const auto& [key, value] : from.members()) into[key] = value;
}

// Returns the template of a resumed Job: it takes additions from its JobSet, and removes nothing.
Json resumed_template(const Json& job, const Json& wanted) {
    Json pod = job["spec"]["template"];
    for (const char* name : {"labels", "annotations"})
        if (wanted["metadata"].contains(name)) unite_maps(pod["metadata"][name], wanted["metadata"][name]);
    if (wanted["spec"].contains("nodeSelector"))
        unite_maps(pod["spec"]["nodeSelector"], wanted["spec"]["nodeSelector"]);
    for (const char* name : {"tolerations", "schedulingGates"})
        for (const Json& item : wanted["spec"][name].items()) {
            const auto& there = std::as_const(pod)["spec"][name].items();
            if (std::find(there.begin(), there.end(), item) == there.end()) pod["spec"][name].push_back(item);
        }
    return pod;
}

Json owned_by(const Json& job_set) {
    return Json::array({Json::object({{"apiVersion", job_set["apiVersion"]},
                                      {"kind", "JobSet"},
                                      {"name", job_set["metadata"]["name"]},
                                      {"uid", job_set["metadata"]["uid"]},
                                      {"controller", true},
                                      {"blockOwnerDeletion", true}})});
}

kube::Request as_controller(kube::Request request) {
    const auto at = request.target.find("fieldManager=trainer");
    if (at != std::string::npos) request.target.replace(at, 20, "fieldManager=jobset");
    return request;
}

}  // namespace

bool is_finished(const Json& object) {
    for (const Json& condition : object["status"]["conditions"].items())
        for (const char* end : {"Complete", "Completed", "Failed"})
            if (condition["status"].as_string() == "True" && condition["type"].as_string() == end)
                return true;
    return false;
}

void JobSetController::changed(const Kind& kind, const api::ObjectKey& key, const Json& before,
                               const Json& after) {
    if (kind.resource == job_sets_name) {
        time_.after(lag_(), [this, key, before, after] {
            see(key, before, after);
            follow(key);
        });
        return;
    }
    if (kind.resource != "jobs.batch") return;
    job_changed(key, before, after);
    const Json& object = after.is_null() ? before : after;
    plan({key.ns, std::string(object["metadata"]["labels"][api::job_set_name_label].as_string())});
}

// A watch's view, which never goes back.
void JobSetController::see(const api::ObjectKey& key, const Json& before, const Json& after) {
    const auto version = [](const Json& object) {
        return std::stoull(std::string(object["metadata"]["resourceVersion"].as_string()));
    };
    const auto at = seen_.find(key);
    const bool knows = at != seen_.end();
    if (after.is_null()) {
        if (knows && at->second["metadata"]["uid"] == before["metadata"]["uid"]) seen_.erase(at);
    } else if (!knows || version(after) > version(at->second)) {
        seen_[key] = after;
    }
}

void JobSetController::plan(const api::ObjectKey& job_set) {
    if (!planned_.insert(job_set).second) return;
    time_.after(lag_(), [this, job_set] {
        planned_.erase(job_set);
        follow(job_set);
    });
}

void JobSetController::follow(const api::ObjectKey& key) {
    const Stored* stored = api_.find(job_sets_name, key);
    if (!stored || is_deleted(stored->object)) return;
    if (is_finished(stored->object)) return stop_jobs(key);
    const auto seen = seen_.find(key);
    if (seen == seen_.end() || seen->second["metadata"]["uid"] != stored->object["metadata"]["uid"]) return;
    const Json job_set = seen->second;
    make_service(job_set);
    make_claims(job_set);
    for (const Json& replicated_job : job_set["spec"]["replicatedJobs"].items()) {
        if (waits_for_others(job_set, replicated_job)) continue;
        for (std::int64_t i = 0; i < replicated_job["replicas"].int_or(1); ++i) {
            const std::string name =
                key.name + "-" + std::string(replicated_job["name"].as_string()) + "-" + std::to_string(i);
            // It writes no status then.
            if (const Reply reply = follow_job(job_set, replicated_job, {key.ns, name}); !reply.ok())
                return report_refusal(job_set, reply);
        }
    }
    count(key);
}

// Of a JobSet that has ended. Finished Jobs stay, with their Pods.
void JobSetController::stop_jobs(const api::ObjectKey& key) {
    const Json job_set = api_.find(job_sets_name, key)->object;
    std::vector<api::ObjectKey> active;
    for (const auto& [name, job] : api_.all("jobs.batch"))
        if (is_owned_by(job_set, job.object) && !is_finished(job.object) && !is_deleted(job.object))
            active.push_back(name);
    for (const api::ObjectKey& name : active)
        api_.handle(
            as_controller(kube::remove(jobs, name, kube::Propagation::foreground, kube::Unconditional())));
    count(key);
}

// One event, as recorders count what is repeated: they store the time of the latest half an hour later. Then
// it tries again.
void JobSetController::report_refusal(const Json& job_set, const Reply& refusal) {
    const api::ObjectMeta meta = api::parse_meta(job_set);
    Json event;
    event["metadata"] = Json::object({{"name", meta.name + ".refused"}, {"namespace", meta.ns}});
    event["involvedObject"] = Json::object({{"kind", "JobSet"}, {"name", meta.name}, {"uid", meta.uid}});
    event["type"] = "Warning";
    event["reason"] = "JobCreationFailed";
    event["message"] = api::parse_json(refusal.body).value()["message"];
    event["lastTimestamp"] = api::format_time(time_.wall_seconds());
    api_.handle(as_controller(kube::create(kube::resources::events, event)));
    time_.after(std::chrono::seconds(5), [this, key = meta.key()] { plan(key); });
}

bool JobSetController::waits_for_others(const Json& job_set, const Json& replicated_job) const {
    for (const Json& dependency : replicated_job["dependsOn"].items())
        for (const Json& other : job_set["spec"]["replicatedJobs"].items())
            if (other["name"] == dependency["name"] &&
                succeeded(job_set, other) < other["replicas"].int_or(1))
                return true;
    return false;
}

std::int64_t JobSetController::succeeded(const Json& job_set, const Json& replicated_job) const {
    std::int64_t count = 0;
    for (const auto& [name, job] : api_.all("jobs.batch")) {
        const Json& metadata = job.object["metadata"];
        if (is_owned_by(job_set, job.object) && is_of_this_attempt(job_set, job.object) &&
            metadata["labels"][api::replicated_job_label] == replicated_job["name"])
            count += job.object["status"]["succeeded"].int_or(0);
    }
    return count;
}

// Any Service of that name counts. It watches its own only.
void JobSetController::make_service(const Json& job_set) {
    const api::ObjectMeta meta = api::parse_meta(job_set);
    const std::string name = api::job_set_names::service(meta.name, job_set["spec"]);
    if (name.empty() || api_.find("services", {meta.ns, name})) return;
    Json service;
    service["metadata"] = Json::object({{"name", name}, {"namespace", meta.ns}});
    service["metadata"]["ownerReferences"] = owned_by(job_set);
    service["spec"]["selector"][api::job_set_name_label] = meta.name;
    api_.handle(as_controller(kube::create(kube::resources::services, service)));
}

// Claims are deleted with the JobSet unless their policy retains them. An existing claim is used.
void JobSetController::make_claims(const Json& job_set) {
    const api::ObjectMeta meta = api::parse_meta(job_set);
    for (const Json& policy : job_set["spec"]["volumeClaimPolicies"].items())
        for (const Json& each : policy["templates"].items()) {
            const std::string name = std::string(each["metadata"]["name"].as_string()) + "-" + meta.name;
            if (api_.find("persistentvolumeclaims", {meta.ns, name})) continue;
            Json claim;
            claim["metadata"] = Json::object({{"name", name}, {"namespace", meta.ns}});
            claim["metadata"]["labels"][api::job_set_name_label] = meta.name;
            if (policy["retentionPolicy"]["whenDeleted"].as_string() != "Retain")
                claim["metadata"]["ownerReferences"] = owned_by(job_set);
            claim["spec"] = each["spec"];
            api_.handle(as_controller(kube::create(kube::resources::volume_claims, claim)));
        }
}

Reply JobSetController::follow_job(const Json& job_set, const Json& replicated_job,
                                   const api::ObjectKey& name) {
    const Stored* stored = api_.find("jobs.batch", name);
    const Json& wanted = replicated_job["template"]["spec"]["template"];
    const bool suspend = job_set["spec"]["suspend"].bool_or(false);
    const Json& uid = job_set["metadata"]["uid"];
    if (!stored) {
        Json job;
        job["metadata"] = Json::object({{"name", name.name}, {"namespace", name.ns}});
        job["metadata"]["labels"][api::job_set_name_label] = job_set["metadata"]["name"];
        job["metadata"]["labels"][api::replicated_job_label] = replicated_job["name"];
        job["metadata"]["labels"][attempt_label] = std::to_string(job_set["status"]["restarts"].int_or(0));
        job["metadata"]["ownerReferences"] = owned_by(job_set);
        job["spec"]["suspend"] = suspend;
        job["spec"]["template"] = wanted;
        if (const Json& policy = replicated_job["template"]["spec"]["podFailurePolicy"]; !policy.is_null())
            job["spec"]["podFailurePolicy"] = policy;
        return api_.handle(as_controller(kube::create(jobs, job)));
    }
    const Json job = stored->object;
    // Those of an earlier attempt go first, which ends their Pods.
    if (is_owned_by(job_set, job) && !is_deleted(job) && !is_of_this_attempt(job_set, job))
        return api_.handle(
            as_controller(kube::remove(jobs, name, kube::Propagation::background, kube::Unconditional())));
    // A Job of an earlier JobSet of that name must be deleted first.
    if (job["metadata"]["ownerReferences"][std::size_t{0}]["uid"] != uid || is_deleted(job) ||
        is_finished(job))
        return {.status = 200};
    if (job["spec"]["suspend"].bool_or(false) == suspend) return {.status = 200};
    Json patch;
    patch["spec"]["suspend"] = suspend;
    if (!suspend) patch["spec"]["template"] = resumed_template(job, wanted);
    return api_.handle(as_controller(kube::merge_patch(jobs, name, std::move(patch), kube::Unconditional())));
}

void JobSetController::count(const api::ObjectKey& key) {
    const Stored* stored = api_.find(job_sets_name, key);
    if (!stored) return;
    const Json job_set = stored->object;
    Json list = Json::array();
    std::int64_t wanted = 0, succeeded_jobs = 0;
    Json failed_job;
    std::vector<Json> groups = job_set["spec"]["replicatedJobs"].items();
    std::sort(groups.begin(), groups.end(),
              [](const Json& a, const Json& b) { return a["name"].as_string() > b["name"].as_string(); });
    for (const Json& group : groups) {
        std::int64_t ready = 0, succeeded = 0, failed = 0, active = 0, suspended = 0;
        wanted += group["replicas"].int_or(1);
        for (const auto& [name, job] : api_.all("jobs.batch")) {
            const Json& metadata = job.object["metadata"];
            if (!is_owned_by(job_set, job.object) || !is_of_this_attempt(job_set, job.object) ||
                metadata["labels"][api::replicated_job_label] != group["name"])
                continue;
            if (failed_job.is_null() && !failure_of(job.object).is_null()) failed_job = job.object;
            const Json& status = job.object["status"];
            succeeded += status["succeeded"].int_or(0);
            failed += status["failed"].int_or(0);
            if (is_finished(job.object)) continue;
            ready += status["ready"].int_or(0);
            active += status["active"].int_or(0) > 0;
            suspended += job.object["spec"]["suspend"].bool_or(false);
        }
        succeeded_jobs += succeeded;
        list.push_back(Json::object({{"name", group["name"]},
                                     {"ready", ready},
                                     {"succeeded", succeeded},
                                     {"failed", failed},
                                     {"active", active},
                                     {"suspended", suspended}}));
    }
    Json patch;
    patch["status"]["replicatedJobsStatus"] = std::move(list);
    const api::Time now = time_.wall_seconds();
    if (!is_finished(job_set) && !failed_job.is_null())
        handle_failure(job_set, failed_job, patch["status"]);
    else if (!is_finished(job_set) && succeeded_jobs == wanted && wanted > 0)
        patch["status"]["conditions"] =
            Json::array({condition("Completed", "AllJobsCompleted", "jobset completed successfully", now)});
    note_suspension(job_set, patch["status"]);
    api_.handle(
        as_controller(kube::merge_patch_status(job_sets, key, std::move(patch), kube::Unconditional())));
}

// Keeps the condition Suspended beside the one that `status` is to have. As in JobSet, it is there from the
// first suspension on.
void JobSetController::note_suspension(const Json& job_set, Json& status) {
    const bool suspended = job_set["spec"]["suspend"].bool_or(false);
    const auto& stored = job_set["status"]["conditions"].items();
    const auto at = std::find_if(stored.begin(), stored.end(),
                                 [](const Json& each) { return each["type"].as_string() == "Suspended"; });
    const bool was_noted = at != stored.end();
    if (!was_noted && !suspended) return;
    Json noted = was_noted ? *at : Json();
    if (!was_noted || (noted["status"].as_string() == "True") != suspended) {
        noted = condition("Suspended", suspended ? "SuspendedJobs" : "ResumeJobs", "", time_.wall_seconds());
        noted["status"] = suspended ? "True" : "False";
    }
    Json conditions = Json::array({std::move(noted)});
    const bool has_other = !status["conditions"].is_null();
    for (const Json& other : has_other ? status["conditions"].items() : stored)
        if (other["type"].as_string() != "Suspended") conditions.push_back(other);
    status["conditions"] = std::move(conditions);
}

// The first rule that matches, else a restart that counts.
void JobSetController::handle_failure(const Json& job_set, const Json& job, Json& status) {
    const api::Time now = time_.wall_seconds();
    const auto end = [&](const char* reason) {
        status["conditions"] = Json::array({condition("Failed", reason, "jobset failed", now)});
    };
    const Json& policy = job_set["spec"]["failurePolicy"];
    if (policy.is_null()) return end("FailedJobs");
    const auto& rules = policy["rules"].items();
    const auto rule =
        std::find_if(rules.begin(), rules.end(), [&](const Json& each) { return matches(each, job); });
    const std::string_view action = rule == rules.end() ? "RestartJobSet" : (*rule)["action"].as_string();
    if (action == "FailJobSet") return end("FailJobSetFailurePolicyAction");
    const std::int64_t counted = job_set["status"]["restartsCountTowardsMax"].int_or(0);
    const bool counts = action == "RestartJobSet";
    if (counts && counted >= policy["maxRestarts"].int_or(0)) return end("ReachedMaxRestarts");
    status["restarts"] = job_set["status"]["restarts"].int_or(0) + 1;
    if (counts) status["restartsCountTowardsMax"] = counted + 1;
    status["conditions"] =
        Json::array({condition("RestartingJobSet", "DefaultFailurePolicy", "restarting jobset", now)});
}

void JobSetController::job_changed(const api::ObjectKey& key, const Json& before, const Json& after) {
    if (after.is_null() || is_finished(after)) return;
    const bool suspended = after["spec"]["suspend"].bool_or(false);
    if (!before.is_null() && before["spec"]["suspend"].bool_or(false) == suspended) return;
    const std::string uid(after["metadata"]["uid"].as_string());
    if (suspended) {
        time_.after(lag_(), [this, key, uid] { end_pods(key, uid); });
        return;
    }
    const Json& labels = after["spec"]["template"]["metadata"]["labels"];
    const std::string_view text = labels["signalbox.test/run-seconds"].as_string();
    const std::string outcome(labels["signalbox.test/outcome"].as_string());
    const bool is_first = is_first_attempt(after);
    const bool evicts = outcome == "evicted-once" && is_first;
    const bool is_refused = outcome == "refused" && node_of(after["spec"]["template"]) == "node-1";
    const bool fails = outcome == "failed" || evicts || is_refused || (outcome == "failed-once" && is_first);
    const std::int64_t generation = after["metadata"]["generation"].int_or(0);
    time_.after(lag_(), [this, key, uid] {
        const Stored* job = api_.find("jobs.batch", key);
        if (!job || job->object["spec"]["suspend"].bool_or(false)) return;
        Json status = Json::object({{"active", 1}, {"ready", 1}, {"conditions", Json::array()}});
        status["startTime"] = api::format_time(time_.wall_seconds());
        set_job_status(key, uid, std::move(status));
    });
    if (text == "never") return;
    const std::chrono::seconds run(text.empty() ? 5 : std::stoi(std::string(text)));
    time_.after(
        std::chrono::milliseconds(300) + run, [this, key, uid, fails, evicts, is_refused, generation] {
            const Stored* job = api_.find("jobs.batch", key);
            // A Job that was suspended meanwhile starts again.
            if (!job || job->object["metadata"]["generation"].int_or(0) != generation) return;
            // A Pod that is evicted is deleted.
            if (fails && !evicts) leave_failed_pod(job->object, is_refused);
            Json status = Json::object({{"active", 0}, {"ready", 0}, {fails ? "failed" : "succeeded", 1}});
            const api::Time now = time_.wall_seconds();
            status["conditions"] =
                Json::array({evicts ? evicted(job->object, now)
                                    : condition(fails ? "Failed" : "Complete", "Ended", "", now)});
            set_job_status(key, uid, std::move(status));
        });
}

// Of the TrainJob: neither its JobSet nor one before it has started again.
bool JobSetController::is_first_attempt(const Json& job) const {
    const api::ObjectMeta meta = api::parse_meta(job);
    const Json& labels = job["metadata"]["labels"];
    const Stored* job_set =
        api_.find(job_sets_name, {meta.ns, std::string(labels[api::job_set_name_label].as_string())});
    const Json& annotations = job_set ? job_set->object["metadata"]["annotations"] : Json();
    const std::string_view attempt = annotations[api::attempt_annotation].as_string();
    const bool has_restarted = annotations.contains(api::restarts_before_annotation);
    return labels[attempt_label].as_string() == "0" && (attempt.empty() ? !has_restarted : attempt == "0");
}

// It stays as long as its Job.
void JobSetController::leave_failed_pod(const Json& job, bool is_refused) {
    const api::ObjectMeta meta = api::parse_meta(job);
    const Json& labels = job["metadata"]["labels"];
    const api::ObjectKey key = {meta.ns, meta.name + "-0-" + meta.uid};
    Json pod;
    pod["metadata"] = Json::object({{"name", key.name}, {"namespace", key.ns}});
    pod["metadata"]["labels"] = Json::object({{api::job_set_name_label, labels[api::job_set_name_label]},
                                              {api::job_set_uid_label, meta.controller_uid},
                                              {api::replicated_job_label, labels[api::replicated_job_label]},
                                              {api::completion_index_label, "0"}});
    pod["metadata"]["ownerReferences"] = Json::array({Json::object({{"apiVersion", "batch/v1"},
                                                                    {"kind", "Job"},
                                                                    {"name", meta.name},
                                                                    {"uid", meta.uid},
                                                                    {"controller", true},
                                                                    {"blockOwnerDeletion", true}})});
    pod["spec"]["nodeName"] = node_of(job["spec"]["template"]);
    api_.handle(as_controller(kube::create(kube::resources::pods, pod)));
    Json patch;
    patch["status"] = status_of_failed_pod(is_refused, time_.wall_seconds());
    api_.handle(as_controller(
        kube::merge_patch_status(kube::resources::pods, key, std::move(patch), kube::Unconditional())));
}

// Pods that are told to end are not active any more, and go on for their grace period.
void JobSetController::end_pods(const api::ObjectKey& key, const std::string& uid) {
    const Stored* job = api_.find("jobs.batch", key);
    if (!job || !job->object["spec"]["suspend"].bool_or(false)) return;
    const Json before = job->object["status"];
    const std::int64_t ending = before["active"].int_or(0);
    Json status = Json::object({{"active", 0}, {"ready", 0}});
    status["terminating"] = before["terminating"].int_or(0) + ending;
    status["conditions"] = Json::array({condition("Suspended", "JobSuspended", "", time_.wall_seconds())});
    set_job_status(key, uid, std::move(status));
    if (ending == 0) return;
    time_.after(grace, [this, key, uid, ending] {
        const Stored* now = api_.find("jobs.batch", key);
        if (!now) return;
        const std::int64_t left = now->object["status"]["terminating"].int_or(0) - ending;
        set_job_status(key, uid, Json::object({{"terminating", left}}));
    });
}

void JobSetController::set_job_status(const api::ObjectKey& key, const std::string& uid, Json status) {
    const Stored* job = api_.find("jobs.batch", key);
    if (!job || job->object["metadata"]["uid"].as_string() != uid || is_finished(job->object)) return;
    Json patch;
    patch["status"] = std::move(status);
    api_.handle(as_controller(kube::merge_patch_status(jobs, key, std::move(patch), kube::Unconditional())));
}

}  // namespace model
