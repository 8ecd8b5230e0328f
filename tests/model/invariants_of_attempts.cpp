// Attempts: each JobSet of a job under a failure policy that fails or hangs is counted once, before the next
// one is made.
#include <algorithm>

#include "api/names.hpp"
#include "api/yaml.hpp"
#include "invariants.hpp"

namespace model {
namespace {

using api::Json;

bool has_failed(const api::JobSet& job_set) {
    return job_set.is_attempt && job_set.finished && job_set.finished->type == "Failed";
}

std::string text(const api::ObjectKey& key) { return api::to_string(key); }

}  // namespace

// By the snapshot, unless a tenant may have written that.
std::optional<api::FailurePolicy> Invariants::failure_policy_of(const api::TrainJob& job) const {
    const Stored* snapshot = api_.find("configmaps", {job.meta.ns, job.meta.name + "-runtime-snapshot"});
    if (!snapshot || forged_snapshots_.contains(snapshot->uid())) return std::nullopt;
    const auto runtime = api::parse_yaml(snapshot->object["data"]["runtime"].as_string());
    return runtime ? api::failure_policy(*runtime, job.spec) : std::nullopt;
}

void Invariants::note_attempt(const Json& before, const Json& after, bool by_reconciler) {
    const api::JobSet job_set = api::parse_job_set(after);
    const auto life = lives_.find(job_set.meta.controller_uid);
    if (life == lives_.end()) return;
    life->second.has_attempts = life->second.has_attempts || job_set.is_attempt;
    if (job_set.is_attempt && before.is_null()) life->second.made.emplace(job_set.meta.uid, job_set);
    if (has_failed(job_set)) life->second.failed.emplace(job_set.meta.uid, job_set.restarts.all);
    // One that a dead process has sent may arrive between two others.
    const auto job = train_job_of(life->first);
    const bool is_late = before.is_null() && (!by_reconciler || from_the_dead_);
    if (is_late && job && job_set.restarts != job->restarts) life->second.has_false_restarts = true;
}

// A new JobSet has the restarts of those before it. One under a failure policy has none of its own.
void Invariants::check_budget(const Json& made_now) {
    const api::JobSet made = api::parse_job_set(made_now);
    const auto job = train_job_of(made.meta.controller_uid);
    if (!job) return;
    const std::string name = "JobSet " + text(made.meta.key());
    const std::string_view attempt = made_now["metadata"]["annotations"][api::attempt_annotation].as_string();
    if (job->meta.deletion && *job->meta.deletion < meant_.looked)
        complain("the " + name + " was made although its TrainJob is being deleted");
    if (made.restarts_before != job->restarts && !lives_[job->meta.uid].has_false_restarts)
        complain("the " + name + " began with other restarts than its TrainJob had");
    if (unharmed && api::is_true(job->conditions, api::condition::restarting) && job->attempt.next &&
        time_.wall_seconds() < *job->attempt.next)
        complain("the " + name + " was made before the back-off was over");
    if (!failure_policy_of(*job)) return;
    if (!made.is_attempt || made.max_restarts != 0)
        complain("the " + name + " is no attempt under the failure policy");
    else if (attempt != std::to_string(made.restarts_before.all))
        complain("the " + name + " is another attempt than its restarts tell");
}

void Invariants::check_attempts(const api::TrainJob& before, const api::TrainJob& after) {
    const Life& life = lives_[after.meta.uid];
    if (!life.has_attempts || life.has_false_restarts) return;
    const std::string name = text(after.meta.key());
    if (after.restarts != before.restarts) return check_judgement(before, after);
    const Stored* stored = own_job_set(after.meta.key());
    const api::JobSet job_set = stored ? api::parse_job_set(stored->object) : api::JobSet();
    const bool hung = life.counted.contains(job_set.meta.uid);
    if (job_set.is_attempt && !job_set.finished && !hung && job_set.restarts != after.restarts)
        complain("the status of " + name + " has other restarts than the attempt that runs");
    if (!api::terminal_condition(after) && after.failures != before.failures)
        complain("the status of " + name + " tells of a failure that is not counted");
}

// Returns the JobSets of an attempt that has ended, as far as they are not counted yet: those that have
// failed, or if one hung, all. A JobSet that others delete unseen is made anew as the same attempt.
std::vector<std::string> Invariants::ended_attempts(const Life& life, std::int64_t attempt, bool hung) const {
    std::vector<std::string> uids;
    const auto add = [&](const std::string& uid, std::int64_t of) {
        if (of == attempt && !life.counted.contains(uid)) uids.push_back(uid);
    };
    if (hung)
        for (const auto& [uid, made] : life.made) add(uid, made.restarts.all);
    else
        for (const auto& [uid, of] : life.failed) add(uid, of);
    return uids;
}

// That it hangs is checked as its progress deadline is.
void Invariants::check_hang(const api::TrainJob& before) {
    const std::string name = text(before.meta.key());
    if (before.meta.deletion) complain(name + " starts again although it is being deleted");
    if (before.suspend) complain(name + " starts again although it is suspended");
}

// The status counts one attempt more, which has failed or hangs and was not counted before, and says how.
void Invariants::check_judgement(const api::TrainJob& before, const api::TrainJob& after) {
    Life& life = lives_[after.meta.uid];
    const std::string name = text(after.meta.key());
    const std::int64_t attempt = before.restarts.all;
    const bool hung =
        !after.failures.empty() && after.failures.front().reason == api::reason::progress_deadline_exceeded;
    const std::vector<std::string> ended = ended_attempts(life, attempt, hung);
    const std::int64_t counted = after.restarts.counted - before.restarts.counted;
    if (after.restarts.all != attempt + 1 || ended.empty())
        return complain("the status of " + name + " counts a restart that no attempt has caused");
    life.counted.insert(ended.begin(), ended.end());
    if (hung) check_hang(before);
    if (counted != 0 && counted != 1) complain("the status of " + name + " counts a restart wrongly");
    if (api::terminal_condition(after))
        complain("the status of " + name + " counts a restart as the job ends");
    const auto policy = failure_policy_of(after);
    if (policy && after.restarts.counted > policy->max_restarts)
        complain(name + " starts again although its budget is spent");
    const auto& failures = after.failures;
    std::vector<api::Failure> older = before.failures;
    if (older.size() == api::most_failures) older.pop_back();
    if (failures.empty() || failures.front().attempt != attempt ||
        !std::equal(failures.begin() + 1, failures.end(), older.begin(), older.end()))
        return complain("the status of " + name + " does not tell of the failure that it counts");
    const auto decision =
        counted == 1 ? api::FailureDecision::restart : api::FailureDecision::restart_uncounted;
    if (failures.front().decision != decision)
        complain("the status of " + name + " counts a restart against its judgement");
    const auto& pods = api_.all("pods");
    const bool any_left = std::any_of(pods.begin(), pods.end(), [&](const auto& pod) {
        return pod.second.object["metadata"]["labels"][api::job_set_uid_label].as_string() == ended.front();
    });
    if (unharmed && any_left && !hung && failures.front().pod.empty() && !pods_are_unread)
        complain("the status of " + name + " counts a restart, and names no Pod");
}

// Returns whether a JobSet is an attempt that has failed, or hangs and was counted, and makes way for the
// next one: its TrainJob goes on, as far as a reconcile could know.
bool Invariants::is_over(const api::JobSet& job_set, const api::TrainJob* job) const {
    const api::Condition* ended = job ? api::terminal_condition(*job) : nullptr;
    const auto life = lives_.find(job_set.meta.controller_uid);
    const bool hung =
        !job_set.finished && life != lives_.end() && life->second.counted.contains(job_set.meta.uid);
    return (has_failed(job_set) || hung) && (!ended || ended->last_transition >= meant_.looked);
}

// One that hangs goes at once, also if its TrainJob has been suspended since.
void Invariants::check_next_attempt(const api::JobSet& ended, const api::TrainJob& job) {
    const std::string name = "JobSet " + text(ended.meta.key());
    const Life& life = lives_[job.meta.uid];
    if (job.meta.deletion && *job.meta.deletion < meant_.looked)
        complain("the " + name + " made way although its TrainJob is being deleted");
    if (const auto& [since, suspends] = life.suspends.back();
        ended.finished && suspends && since < meant_.looked)
        complain("the " + name + " made way although its TrainJob is suspended");
    if (life.has_false_restarts) return;
    if (!life.counted.contains(ended.meta.uid))
        complain("the " + name + " made way before its failure was counted");
    const bool is_told = std::any_of(job.failures.begin(), job.failures.end(), [&](const api::Failure& each) {
        return each.attempt == ended.restarts.all;
    });
    if (!is_told) complain("the " + name + " made way before its first failure was told");
    if (unharmed && ended.finished && job.attempt.next && time_.wall_seconds() < *job.attempt.next)
        complain("the " + name + " made way before its back-off was over");
}

// What attempts have written is there for the next ones.
void Invariants::check_claim(const api::ObjectKey& key, const Json& before, const Json& after) {
    if (before.is_null() || api::parse_meta(before).deletion) return;
    if (!after.is_null() && !api::parse_meta(after).deletion) return;
    const std::string_view name = before["metadata"]["labels"][api::job_set_name_label].as_string();
    const Stored* job = api_.find("trainjobs.trainer.kubeflow.org", {key.ns, std::string(name)});
    if (!job || api::parse_meta(job->object).deletion || !lives_[job->uid()].has_attempts) return;
    const std::string owner = api::parse_meta(before).controller_uid;
    const bool is_of_another = owner != job->uid() && lives_.contains(owner);
    if (!is_of_another) complain("the volume claim " + text(key) + " of a job with attempts was deleted");
}

}  // namespace model
