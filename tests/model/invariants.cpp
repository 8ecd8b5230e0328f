#include "invariants.hpp"

#include <algorithm>

#include "api/job_set.hpp"
#include "api/names.hpp"
#include "controller/reconcile/observe.hpp"
#include "lifecycle/observed.hpp"

namespace model {
namespace {

using api::Json;

constexpr std::string_view train_jobs_name = "trainjobs.trainer.kubeflow.org";
constexpr std::string_view job_sets_name = "jobsets.jobset.x-k8s.io";
// The longest time until everything is done if nothing fails.
constexpr std::chrono::seconds promptly{3};
// From an object's answer to the write that rests on it, if nothing is slow.
constexpr std::chrono::milliseconds one_round_trip{100};

std::string text(const api::ObjectKey& key) { return api::to_string(key); }

bool is_runtime(const Kind& kind) {
    return kind.kind == "TrainingRuntime" || kind.kind == "ClusterTrainingRuntime";
}

bool is_managed_here(const Json& job) {
    const std::string_view manager = job["spec"]["managedBy"].as_string();
    return manager.empty() || manager == api::managed_by_this_controller;
}

// Leases are contended, and a snapshot is created without reading it first.
bool is_attempt(const kube::Request& request) {
    const std::string resource = kube::resource_of(request.target);
    return resource.rfind("leases", 0) == 0 ||
           (request.method == "POST" && resource.rfind("configmaps", 0) == 0);
}

bool is_dry_run(const kube::Request& request) {
    return request.target.find("dryRun=All") != std::string::npos;
}

// The volumes of its pods are deleted with it.
bool keeps_nothing(const Json& job_set) {
    const auto& policies = job_set["spec"]["volumeClaimPolicies"].items();
    return std::any_of(policies.begin(), policies.end(), [](const Json& policy) {
        return policy["retentionPolicy"]["whenDeleted"].as_string() != "Retain";
    });
}

// Between the read and the delete: the object is deleted whatever it holds. A TrainJob or a Job may go on
// instead.
bool may_change_unnoticed(const Kind& kind) { return kind.resource != train_jobs_name && kind.kind != "Job"; }

Json without(const Json& object, std::initializer_list<const char*> names) {
    Json tree = object;
    for (const char* name : names) tree.erase(name);
    return tree;
}

}  // namespace

void Invariants::complain(std::string what) {
    complaints_.push_back(api::format_time(time_.wall_seconds()) + " " + what);
}

void Invariants::logged(std::string_view line) { complain("logged: " + std::string(line)); }

void Invariants::asked(int reconciler, const kube::Request& request, bool alive, const Meant& meant) {
    asking_ = reconciler;
    meant_ = meant;
    from_the_dead_ = !alive;
    changed_something_ = false;
    reconcilers_ = std::max(reconcilers_, reconciler + 1);
    if (request.method != "GET") ++writes_;
}

void Invariants::answered(int reconciler, const kube::Request& request, const Reply& reply) {
    asking_ = -1;
    if (unharmed && reply.status == 409 && !is_attempt(request) &&
        !has_just_been_edited(ApiModel::name_of(request.target)))
        complain("a write was refused although nothing had failed: " + request.method + " " + request.target);
    // A change that other writers made a moment ago may be the same.
    if (unharmed && reply.ok() && request.method != "GET" && !is_attempt(request) && !is_dry_run(request) &&
        !changed_something_ && !has_just_been_edited(ApiModel::name_of(request.target)))
        complain("a write changed nothing: " + request.method + " " + request.target);
    const std::string resource = kube::resource_of(request.target);
    if (resource != "events" && resource.rfind("leases", 0) != 0)
        just_seen_absent_[reconciler] =
            request.method == "GET" && resource == job_sets_name && reply.status == 404
                ? std::optional(ApiModel::name_of(request.target).key)
                : std::nullopt;
    if (!reply.ok() || resource.rfind(train_jobs_name, 0) != 0) return;
    const auto object = api::parse_json(reply.body);
    if (object && api::terminal_condition(api::parse_train_job(*object)))
        seen_terminal_[reconciler].insert(api::parse_meta(*object).uid);
}

// By another writer (a user, the JobSet controller), so shortly before a write of it that this could not
// know.
bool Invariants::has_just_been_edited(const ApiModel::Name& name) const {
    const auto at = edited_.find(std::pair(std::string(name.resource), name.key));
    return at != edited_.end() && time_.now() - at->second <= one_round_trip;
}

std::optional<api::TrainJob> Invariants::train_job_of(const std::string& uid) const {
    for (const auto& [key, stored] : api_.all(train_jobs_name))
        if (stored.object["metadata"]["uid"].as_string() == uid) return api::parse_train_job(stored.object);
    return std::nullopt;
}

void Invariants::changed(const Kind& kind, const api::ObjectKey& key, const Json& before, const Json& after,
                         bool by_reconciler) {
    changed_something_ = true;
    if (kind.resource == train_jobs_name) check_train_job(key, before, after, by_reconciler);
    if (is_runtime(kind)) {
        auto& policies = policies_[{std::string(kind.resource), key}];
        if (policies.empty()) policies.emplace_back();
        policies.back().until = time_.wall_seconds();
        policies.emplace_back();
        if (!after.is_null()) policies.back().said = api::run_policy_of(after);
        if (!after.is_null() && !by_reconciler)
            // Of a job that another controller has started, the run policy does not count.
            for (const Json& each : {after, api::without_run_policy(after)})
                administrators_runtimes_.insert(controller::runtime_digest(each));
        if (by_reconciler) check_runtime(before, after);
    }
    if (kind.kind == "ConfigMap" && before.is_null() && !by_reconciler)
        forged_snapshots_.insert(api::parse_meta(after).uid);
    note_beginning(kind, key, after);
    if (kind.kind == "JobSet" && !after.is_null() && !after["spec"]["suspend"].bool_or(false))
        job_sets_that_ran_.insert(api::parse_meta(after).uid);
    if (kind.kind == "JobSet" && !after.is_null() && api::parse_job_set(after).any_active() &&
        (before.is_null() || !api::parse_job_set(before).any_active()))
        active_since_[api::parse_meta(after).uid] = time_.wall_seconds();
    if (kind.kind == "JobSet" && !after.is_null()) note_start(before, after);
    if (kind.kind == "JobSet" && !after.is_null()) note_all_started(before, after);
    if (kind.kind == "JobSet" && !after.is_null()) note_attempt(before, after, by_reconciler);
    if (kind.kind == "PersistentVolumeClaim") check_claim(key, before, after);
    if (kind.kind == "Job" && !after.is_null()) note_pods(after);
    if (kind.kind == "Pod") failed_pods_.insert(key.name);
    if (kind.kind == "JobSet" && !after.is_null() && api::parse_job_set(after).finished)
        finished_since_.try_emplace(api::parse_meta(after).uid, time_.wall_seconds());
    if (!by_reconciler) edited_[{std::string(kind.resource), key}] = time_.now();
    if (!by_reconciler) return;
    // A create of a dead process cannot be prevented if the object does not exist.
    if (from_the_dead_ && before.is_null()) return;
    if (kind.kind == "Event") return check_event(after);
    check_aim(kind, key, before, after);
    if (kind.kind == "JobSet") check_job_set(key, before, after);
    if (kind.kind == "Job") check_job(key, before, after);
    if (kind.kind == "ConfigMap") check_snapshot(key, before, after);
    if (kind.kind == "JobSet" || kind.kind == "ConfigMap" || kind.kind == "Secret" || kind.kind == "PodGroup")
        check_owned(kind, key, before, after);
}

// A delayed write must neither meet another object than the intended one, nor undo later changes of it. An
// unfinished JobSet or a snapshot may be deleted whatever it holds.
void Invariants::check_aim(const Kind& kind, const api::ObjectKey& key, const Json& before,
                           const Json& after) {
    if (before.is_null()) return;
    const std::string name = std::string(kind.kind) + " " + text(key);
    const api::ObjectMeta there = api::parse_meta(before);
    // Also a second time, after another writer.
    const bool removed =
        after.is_null() || (api::parse_meta(after).deletion && before["spec"] == after["spec"]);
    if (there.uid != meant_.uid)
        complain("a write hit " + name + " that was meant for another one");
    else if (there.resource_version != meant_.version && !(removed && may_change_unnoticed(kind)))
        complain("a write hit " + name + " that did not know of its latest change");
}

void Invariants::check_train_job(const api::ObjectKey& key, const Json& before, const Json& after,
                                 bool by_reconciler) {
    const Json& there = after.is_null() ? before : after;
    const api::ObjectMeta meta = api::parse_meta(there);
    Life& life = lives_[meta.uid];
    life.is_managed_here = is_managed_here(there);
    const bool suspend = there["spec"]["suspend"].bool_or(false);
    if (life.suspends.empty() || life.suspends.back().second != suspend)
        life.suspends.emplace_back(time_.wall_seconds(), suspend);
    if (!after.is_null() && !before.is_null()) {
        const api::TrainJob was = api::parse_train_job(before);
        const api::TrainJob now = api::parse_train_job(after);
        for (const api::Condition& c : now.conditions) life.reasons.insert(c.reason);
        life.has_ended = life.has_ended || api::terminal_condition(now);
        life.has_false_restarts =
            life.has_false_restarts ||
            (!by_reconciler && (was.restarts != now.restarts || was.attempt != now.attempt));
        if (by_reconciler) check_status(was, now);
        const api::Condition* suspended = api::find_condition(was.conditions, api::condition::suspended);
        const api::Condition* resumed = api::find_condition(now.conditions, api::condition::suspended);
        // Also of a job that was resumed before a reconciler saw it.
        if (resumed && !resumed->is_true() && (!suspended || suspended->is_true()))
            life.resumed = resumed->last_transition;
        if (by_reconciler) check_policy_and_times(was, now);
        if (by_reconciler && before["spec"] != after["spec"])
            complain("the spec of " + text(key) + " was changed");
        check_correction(key, before["spec"], after["spec"]);
        check_resize(key, before["spec"], after["spec"]);
    }
    if (!by_reconciler) return;
    const bool removed =
        !before.is_null() && !api::parse_meta(before).deletion && (after.is_null() || meta.deletion);
    const bool dispatched = there["spec"]["managedBy"].as_string() == api::managed_by_multikueue;
    if (!life.is_managed_here && !(removed && dispatched))
        complain("a TrainJob that is not ours was written: " + text(key));
    if (removed) check_expiry(api::parse_train_job(before));
}

// Checks the changes of conditions in one status write.
void Invariants::check_status(const api::TrainJob& before, const api::TrainJob& after) {
    const std::string name = text(after.meta.key());
    const api::Condition* ended = api::terminal_condition(before);
    const api::Condition* ends = api::terminal_condition(after);
    if (ended && (!ends || ends->type != ended->type || ends->reason != ended->reason ||
                  ends->last_transition != ended->last_transition))
        complain("the end of " + name + " was rewritten");
    if (api::is_true(after.conditions, api::condition::complete) &&
        api::is_true(after.conditions, api::condition::failed))
        complain(name + " is complete and failed");
    check_times(before, after);
    check_counts(before, after);
    if (!before.runtime_digest.empty() && after.runtime_digest != before.runtime_digest)
        complain("the status of " + name + " tells of another runtime that it began with");
    if (unharmed && !ended && after.restarts.all < before.restarts.all &&
        !lives_[after.meta.uid].has_false_restarts)
        complain("the status of " + name + " has forgotten restarts");
    check_failures(before, after);
    check_attempts(before, after);
    check_stall(before, after);
    check_progress(before, after);
    if (!ended && ends && ends->reason == api::reason::deadline_exceeded) check_deadline(before);
}

// The Pods go with their JobSet, so what they say has to be in the status of the end.
void Invariants::check_failures(const api::TrainJob& before, const api::TrainJob& after) {
    const std::string name = text(after.meta.key());
    for (const api::Failure& failure : after.failures)
        if (!failure.pod.empty() && !failed_pods_.contains(failure.pod))
            complain("the status of " + name + " names a Pod that has not failed");
    const api::Condition* ends = api::terminal_condition(after);
    if (api::terminal_condition(before)) {
        if (after.failures != before.failures) complain("the failures of " + name + " were rewritten");
    } else if (const Stored* stored = own_job_set(after.meta.key()); unharmed && ends && stored) {
        const api::JobSet job_set = api::parse_job_set(stored->object);
        const bool failed = job_set.finished && job_set.finished->type == "Failed" &&
                            job_set.finished->reason == ends->reason;
        const auto& pods = api_.all("pods");
        const bool any_left = std::any_of(pods.begin(), pods.end(), [&](const auto& pod) {
            return pod.second.object["metadata"]["labels"][api::job_set_uid_label].as_string() ==
                   job_set.meta.uid;
        });
        if (failed && any_left && after.failures.empty())
            complain(name + " failed, and its status names no Pod");
    }
}

// Returns when the last JobSet of the TrainJob was resumed, if it is in a queue of its own.
std::optional<api::Time> Invariants::last_run_in_queue(const api::TrainJob& job) const {
    const auto& history = api_.history(job_sets_name);
    const auto last = std::find_if(history.rbegin(), history.rend(),
                                   [&](const Change& change) { return change.key == job.meta.key(); });
    if (last == history.rend()) return std::nullopt;
    const api::JobSet job_set = api::parse_job_set(api::parse_json(*last->text).value());
    if (job_set.queue.empty() || !job_set.suspended || !job_set.belongs_to(job)) return std::nullopt;
    return job_set.suspended->last_transition;
}

void Invariants::check_deadline(const api::TrainJob& before) {
    const std::string name = text(before.meta.key());
    const Life& life = lives_[before.meta.uid];
    std::optional<std::int64_t> shortest;
    for (const auto& policy : life.began_with ? std::vector{life.began_with} : lately_said(before)) {
        auto limit = before.active_deadline_seconds;
        const api::RunPolicy said = policy.value_or(before.run_policy.value_or(api::RunPolicy()));
        if (!limit) limit = said.active_deadline_seconds;
        const auto most = said.max_active_deadline_seconds;
        if (most) limit = std::min(limit.value_or(*most), *most);
        if (limit) shortest = std::min(shortest.value_or(*limit), *limit);
    }
    const Stored* stored = api_.find(job_sets_name, before.meta.key());
    const api::Condition* suspended = api::find_condition(before.conditions, api::condition::suspended);
    const bool is_suspended = suspended && suspended->is_true();
    // Kueue may run it all the same.
    const bool is_in_queue = stored && !api::parse_job_set(stored->object).queue.empty();
    if (!shortest || ((before.suspend || is_suspended) && !is_in_queue)) {
        complain("the deadline of " + name + " was applied although it has none now");
        return;
    }
    api::Time start = is_suspended ? suspended->last_transition : life.resumed.value_or(before.meta.creation);
    if (const auto run = last_run_in_queue(before)) start = std::max(start, *run);
    const auto over = time_.wall_seconds() - start;
    if (over < std::chrono::seconds(*shortest))
        complain("the deadline of " + name + " was applied too early");
    if (unharmed && over > std::chrono::seconds(*shortest) + promptly)
        complain("the deadline of " + name + " was applied too late");
    if (!has_looked()) complain("the deadline of " + name + " was applied without a look at it");
    if (!stored) return;
    const api::ObjectMeta job_set = api::parse_meta(stored->object);
    const auto finished = finished_since_.find(job_set.uid);
    if (job_set.controller_uid == before.meta.uid && finished != finished_since_.end() &&
        finished->second < meant_.looked && !life.counted.contains(job_set.uid))
        complain(name + " was ended by its deadline although its JobSet had finished");
}

// Checks transition times. Deadlines and TTLs count from times that were written earlier.
void Invariants::check_times(const api::TrainJob& before, const api::TrainJob& after) {
    const std::string name = text(after.meta.key());
    for (const api::Condition& condition : after.conditions) {
        const api::Condition* old = api::find_condition(before.conditions, condition.type);
        if (old && condition.last_transition < old->last_transition)
            complain(condition.type + " of " + name + " went back in time");
        const bool changes = !old || condition.status != old->status;
        if (!changes && condition.last_transition != old->last_transition)
            complain(condition.type + " of " + name + " moved without a change");
        if (condition.last_transition > time_.wall_seconds() && !two_clocks_are_wrong)
            complain(condition.type + " of " + name + " is from the future");
        // The time of a JobSet's end comes from the JobSet.
        const bool says_when_it_ended =
            condition.reason != api::reason::deadline_exceeded &&
            condition.reason != api::reason::progress_deadline_exceeded &&
            (condition.type == api::condition::complete || condition.type == api::condition::failed);
        if (changes && !says_when_it_ended &&
            condition.last_transition + longest_reconcile + late_by < time_.wall_seconds())
            complain(condition.type + " of " + name + " changes only now, not when it says");
    }
}

bool Invariants::has_looked() const {
    return meant_.at - meant_.looked - meant_.stood_still <= longest_reconcile;
}

// Queues release the nodes of a job that is reported suspended and without active Pods. Counts always lag
// behind the pods a little, so a pod may start between a reconciler's read and its write. What the status
// said before is out already.
void Invariants::check_counts(const api::TrainJob& before, const api::TrainJob& after) {
    const auto says_it = [](const api::TrainJob& job) {
        return api::is_true(job.conditions, api::condition::suspended) && !api::any_active(job.jobs_status);
    };
    if (!says_it(after) || says_it(before)) return;
    const Stored* stored = api_.find(job_sets_name, after.meta.key());
    if (!stored || after.meta.deletion) return;
    const api::JobSet job_set = api::parse_job_set(stored->object);
    if (job_set.meta.controller_uid != after.meta.uid || !job_set.any_active()) return;
    if (!has_looked() || active_since_[job_set.meta.uid] < meant_.looked)
        complain(text(after.meta.key()) + " was said to rest while its pods were active");
}

void Invariants::check_job_set(const api::ObjectKey& key, const Json& before, const Json& after) {
    const std::string name = "JobSet " + text(key);
    if (!before.is_null() && !after.is_null()) {
        const bool ran = !before["spec"]["suspend"].bool_or(false);
        const bool suspends = after["spec"]["suspend"].bool_or(false);
        Json expected = before["spec"];
        expected["suspend"] = suspends;
        if (ran && (!suspends || expected != after["spec"]) && before["spec"] != after["spec"])
            complain("the running " + name + " was changed");
    }
    check_suspension(key, before, after);
    check_origin(before, after);
    if (!before.is_null() && api::parse_meta(before).deletion && !after.is_null() &&
        before["spec"] != after["spec"] && !after["spec"]["suspend"].bool_or(false))
        complain("the " + name + " that is being deleted was changed");
    if (!before.is_null() && !after.is_null() && before["spec"]["suspend"].bool_or(false) &&
        after["spec"]["suspend"].bool_or(false) && before["spec"] != after["spec"] &&
        api::parse_job_set(before).any_active())
        complain("the suspended " + name + " was changed while its pods were active");
    // The garbage collector may start the deletion between the read and the write.
    if (const auto since = before.is_null() ? std::nullopt : api::parse_meta(before).deletion;
        since && (!has_looked() || *since < meant_.looked) &&
        before["metadata"]["finalizers"] != after["metadata"]["finalizers"])
        complain("how " + name + " is deleted was changed");
    const bool removed = !before.is_null() && !api::parse_meta(before).deletion &&
                         (after.is_null() || api::parse_meta(after).deletion);
    if (removed) {
        const api::JobSet was = api::parse_job_set(before);
        const auto job = train_job_of(was.meta.controller_uid);
        const bool ended = job && api::terminal_condition(*job);
        const bool makes_way = is_over(was, job ? &*job : nullptr);
        // A dead process may have sent it before the runtime was edited, and the snapshot replaced.
        const bool is_of_former_runtime =
            late_by > 0s && job && !lifecycle::had_job_set(*job) && were_limits_edited(*job, late_by);
        // Or before the attempt was judged, whose JobSet a user has deleted.
        const bool is_of_former_attempt =
            late_by > 0s && job && was.is_attempt && was.restarts.all < job->restarts.all;
        if (job && !ended && !was.suspend && !makes_way && !was_corrected_since(before, *job) &&
            !is_of_former_runtime && !is_of_former_attempt)
            complain("the running " + name + " of an unfinished TrainJob was deleted");
        if (job && !ended && was.suspend && was.any_active())
            complain(name + " was deleted while its pods were active");
        if (!has_looked()) complain(name + " was deleted without a look at its TrainJob");
        // That of an ended job may finish while the DELETE is on its way. That of another job is deleted with
        // a precondition that excludes this.
        const auto finished = finished_since_.find(was.meta.uid);
        const bool finished_late = finished != finished_since_.end() && finished->second >= meant_.looked;
        if (was.finished && !makes_way && !(ended && finished_late))
            complain("the finished " + name + " was deleted");
        if (job && !ended && was.suspend && !makes_way && was.restarts != job->restarts)
            complain(name + " was deleted with restarts that the status does not tell");
        if (job && makes_way) check_next_attempt(was, *job);
        if (job && !ended && !makes_way) check_recreation(before, *job);
        if (job && !ended && keeps_nothing(before) && job_sets_that_ran_.contains(was.meta.uid))
            complain(name + " was deleted with the volume claims that its pods had written to");
    }
    if (removed) removed_job_sets_[api::parse_meta(before).uid] = asking_;
    if (before.is_null()) check_budget(after);
    check_single(key, before, after);
}

// A JobSet is built from the runtime that the TrainJob's status says it began with, or from one that an
// administrator has written: not from what a tenant has put into the snapshot. No runtime of an administrator
// has the host's network.
void Invariants::check_origin(const Json& before, const Json& after) {
    if (after.is_null()) return;
    Json was = before["spec"];
    was["suspend"] = after["spec"]["suspend"];
    if (was == after["spec"]) return;
    const api::JobSet made = api::parse_job_set(after);
    const std::string name = "JobSet " + text(made.meta.key());
    const bool is_noted = !cluster_takes_notes || !made.runtime_digest.empty();
    if ((is_noted && !administrators_runtimes_.contains(made.runtime_digest)) ||
        to_json(after).find("hostNetwork") != std::string::npos)
        complain(name + " was built from a runtime that no administrator has written");
    const auto job = train_job_of(made.meta.controller_uid);
    if (is_noted && job && !job->runtime_digest.empty() && job->runtime_digest != made.runtime_digest)
        complain(name + " was built from another runtime than its TrainJob began with");
}

// A TrainJob never has two JobSets, under whatever name, nor the Jobs of two. The exception: another one
// deleted the first without waiting for its Jobs, such as a user, or a reconciler that has found the job to
// be over.
void Invariants::check_single(const api::ObjectKey& key, const Json& before, const Json& after) {
    if (!before.is_null() || after.is_null()) return;
    const std::string owner = api::parse_meta(after).controller_uid;
    const auto train_job = train_job_of(owner);
    const bool over = train_job && api::terminal_condition(*train_job);
    const bool could_know = !over || seen_terminal_[asking_].contains(owner);
    for (const auto& [other, stored] : api_.all(job_sets_name))
        if (other != key && api::parse_meta(stored.object).controller_uid == owner)
            complain("two JobSets of one TrainJob: " + text(other) + " and " + text(key));
    for (const auto& [name, job] : api_.all("jobs.batch")) {
        const auto removed = removed_job_sets_.find(api::parse_meta(job.object).controller_uid);
        if (removed == removed_job_sets_.end()) continue;
        if (removed->second == asking_ || could_know)
            complain("JobSet " + text(key) + " was created while Job " + text(name) +
                     " of one that had been deleted for it was there");
    }
}

// A JobSet follows the TrainJob's `suspend` at the time of the reconcile's read, or later. One that runs with
// a former number of nodes has to end, and so has that of a job which has ended.
void Invariants::check_suspension(const api::ObjectKey& key, const Json& before, const Json& after) {
    if (after.is_null()) return;
    bool suspends = after["spec"]["suspend"].bool_or(false);
    // Kueue's webhook suspends what is created. The note has what was sent.
    if (const auto sent = api::parse_job_set(after).written_suspend; sent && before.is_null())
        suspends = *sent;
    if (!before.is_null() && before["spec"]["suspend"].bool_or(false) == suspends) return;
    const auto life = lives_.find(api::parse_meta(after).controller_uid);
    if (life == lives_.end() || life->second.suspends.empty()) return;
    const bool resizes = suspends && runs_with_former_size(before);
    // The TrainJob may be gone by then. If its JobSet has ended it, a second leader may have made another
    // one.
    const bool stops = suspends && life->second.has_ended;
    bool said = resizes || stops;
    const auto& said_since = life->second.suspends;
    for (std::size_t i = 0; i < said_since.size(); ++i) {
        const bool until_later = i + 1 == said_since.size() || said_since[i + 1].first >= meant_.shown;
        said = said || (said_since[i].second == suspends && said_since[i].first <= meant_.at && until_later);
    }
    // The answer to a write of the TrainJob shows it as well.
    if (meant_.at - meant_.shown - meant_.stood_still > longest_reconcile)
        complain("JobSet " + text(key) + " was suspended or set going without a look at its TrainJob");
    if (!before.is_null() && !suspends) check_resume(key, before);
    if (unharmed && suspends && !resizes && !stops && !before.is_null() &&
        meant_.at > said_since.back().first + promptly)
        complain("JobSet " + text(key) + " was suspended long after its TrainJob");
    if (!said)
        complain("JobSet " + text(key) + (suspends ? " was suspended" : " was set going") +
                 " although its TrainJob says otherwise");
    const auto job = train_job_of(life->first);
    if (!before.is_null() || !job) return;
    // The next reconcile needs the runtime that it runs with. The garbage collector may be deleting both.
    // What a tenant has put there, another reconciler may just be replacing.
    if (!job->meta.deletion && !(tenant_replaces_snapshots && !unharmed) &&
        !api_.find("configmaps", {key.ns, key.name + "-runtime-snapshot"}))
        complain("JobSet " + text(key) + " was created without a snapshot");
}

void Invariants::note_pods(const Json& job) {
    const std::string uid = api::parse_meta(job).uid;
    const Json& status = job["status"];
    if (status["active"].int_or(0) + status["terminating"].int_or(0) == 0)
        busy_since_.erase(uid);
    else
        busy_since_.try_emplace(uid, time_.wall_seconds());
}

// Two Pods of one rank would write to one checkpoint.
void Invariants::check_resume(const api::ObjectKey& key, const Json& job_set) {
    // Job, JobSet and Jobs are read at the same time, and answered one after the other.
    constexpr std::chrono::seconds longest_look{3};
    for (const auto& [name, job] : api_.all("jobs.batch")) {
        const api::ObjectMeta meta = api::parse_meta(job.object);
        if (meta.controller_uid != api::parse_meta(job_set).uid) continue;
        const auto busy = busy_since_.find(meta.uid);
        if (busy != busy_since_.end() && busy->second + longest_look < meant_.looked)
            complain("JobSet " + text(key) + " was resumed while Pods of before still ended");
    }
}

void Invariants::check_owned(const Kind& kind, const api::ObjectKey& key, const Json& before,
                             const Json& after) {
    const std::string name = std::string(kind.kind) + " " + text(key);
    for (const Json* object : {&before, &after}) {
        if (object->is_null()) continue;
        const auto life = lives_.find(api::parse_meta(*object).controller_uid);
        if (life == lives_.end()) return complain(name + " of another owner was written");
        if (!life->second.is_managed_here)
            return complain(name + " of a TrainJob that is not ours was written");
    }
    if (after.is_null() || api::parse_meta(after).deletion) return;
    // Running Pods continue to use the keys.
    if (kind.kind == "Secret" && !before.is_null()) complain("the keys in " + name + " were changed");
    const std::string uid = api::parse_meta(after).controller_uid;
    const auto job = train_job_of(uid);
    if (!job || !api::terminal_condition(*job)) return;
    const bool stops = kind.kind == "JobSet" && !before.is_null() &&
                       !before["spec"]["suspend"].bool_or(false) && after["spec"]["suspend"].bool_or(false);
    if (stops) return;
    // Another reconciler may have ended the job between the last read and the write of this one.
    if (reconcilers_ < 2 || seen_terminal_[asking_].contains(uid))
        complain(name + " was written although its TrainJob had ended");
}

// Once there is a JobSet, the snapshot has the runtime of which it was built.
void Invariants::check_snapshot(const api::ObjectKey& key, const Json& before, const Json& after) {
    constexpr std::string_view ending = "-runtime-snapshot";
    if (before.is_null() || !key.name.ends_with(ending)) return;
    if (!after.is_null() && before["data"] == after["data"] && !api::parse_meta(after).deletion) return;
    if (forged_snapshots_.contains(api::parse_meta(before).uid)) return;
    const Stored* stored =
        api_.find(job_sets_name, {key.ns, key.name.substr(0, key.name.size() - ending.size())});
    if (!stored) return;
    const api::ObjectMeta job_set = api::parse_meta(stored->object);
    // Another reconciler may create it between the last read and the write.
    if (reconcilers_ > 1 && just_seen_absent_[asking_] == job_set.key()) return;
    if (!job_set.deletion && job_set.controller_uid == api::parse_meta(before).controller_uid)
        complain("the snapshot of JobSet " + text(job_set.key()) + " was taken away");
}

void Invariants::check_runtime(const Json& before, const Json& after) {
    if (after.is_null()) return complain("a runtime was deleted");
    if (before.is_null() || without(before, {"metadata"}) != without(after, {"metadata"}))
        complain("a runtime was changed");
}

// Events report things that have happened.
void Invariants::check_event(const Json& event) {
    const std::string reason(event["reason"].as_string());
    events_.insert(reason);
    using namespace api::reason;
    for (const std::string_view known :
         {jobs_creation_succeeded, jobs_build_failed, jobs_creation_failed, suspended, resumed,
          deadline_exceeded, progress_deadline_exceeded, runtime_not_supported})
        if (reason == known &&
            !lives_[std::string(event["involvedObject"]["uid"].as_string())].reasons.contains(reason))
            complain("the event " + reason + " came before its condition");
}

std::string summary(const ApiModel& api, const api::ObjectKey& key) {
    const Stored* stored = api.find(train_jobs_name, key);
    const Stored* set = api.find(job_sets_name, key);
    std::string line = stored ? "" : "gone";
    std::string uid;
    if (stored) {
        const api::TrainJob job = api::parse_train_job(stored->object);
        uid = job.meta.uid;
        for (const api::Condition& c : job.conditions)
            line += (c.is_true() ? "+" : c.status == "False" ? "-" : "?") + c.reason + " ";
        if (job.conditions.empty()) line += "no conditions ";
        line.pop_back();
        if (job.meta.deletion) line += " (deleted)";
    }
    line += "; ";
    if (!set) {
        line += "no JobSet";
    } else {
        const api::JobSet job_set = api::parse_job_set(set->object);
        const bool ours = !uid.empty() && job_set.meta.controller_uid == uid;
        line += ours ? "" : "foreign ";
        line += job_set.meta.deletion ? "ending"
                : job_set.finished    ? "finished"
                : job_set.suspend     ? "suspended"
                                      : "running";
    }
    line += api.find("configmaps", {key.ns, key.name + "-runtime-snapshot"}) ? "; snapshot" : "; no snapshot";
    int active = 0;
    for (const auto& [name, job] : api.all("jobs.batch"))
        active += job.object["status"]["active"].int_or(0) > 0;
    return line + "; " + std::to_string(active) + " active";
}

}  // namespace model
