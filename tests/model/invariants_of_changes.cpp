// What a correction of a job meets, what a stall is read from, and data and work that a change of a suspended
// one must never lose.
#include "api/job_set.hpp"
#include "api/names.hpp"
#include "environment.hpp"
#include "invariants.hpp"
#include "lifecycle/observed.hpp"

namespace model {

using api::Json;

namespace {

// The members of `trainer` but for the number of nodes; an object without any is as none.
Json program_of(const Json& spec) {
    Json program = spec["trainer"].is_object() ? spec["trainer"] : Json::object();
    program.erase("numNodes");
    return program;
}

}  // namespace

// The program is corrected only while there is no JobSet.
void Invariants::check_correction(const api::ObjectKey& key, const Json& before, const Json& after) {
    if (before["initializer"] == after["initializer"] && program_of(before) == program_of(after)) return;
    if (own_job_set(key)) complain(api::to_string(key) + " was corrected beside its JobSet");
}

// The number of nodes changes while nothing runs.
void Invariants::check_resize(const api::ObjectKey& key, const Json& before, const Json& after) {
    if (before["trainer"]["numNodes"] == after["trainer"]["numNodes"]) return;
    const Stored* job_set = own_job_set(key);
    if (!job_set) return;
    if (api::parse_job_set(job_set->object).any_active())
        complain(api::to_string(key) + " was resized while its pods were active");
    if (!job_set->object["spec"]["suspend"].bool_or(false) && !is_finished(job_set->object))
        complain(api::to_string(key) + " was resized before its JobSet was suspended");
    if (!before["suspend"].bool_or(false) && !after["suspend"].bool_or(false))
        complain(api::to_string(key) + " was resized while it was not suspended");
}

bool Invariants::runs_with_former_size(const Json& job_set) const {
    if (job_set.is_null() || job_set["spec"]["suspend"].bool_or(false)) return false;
    const auto job = train_job_of(api::parse_meta(job_set).controller_uid);
    const Json& made = job_set["spec"]["replicatedJobs"][std::size_t{0}]["template"]["spec"]["parallelism"];
    return job && job->spec["trainer"]["numNodes"].is_number() && job->spec["trainer"]["numNodes"] != made;
}

const Stored* Invariants::own_job_set(const api::ObjectKey& train_job) const {
    const Stored* job_set = api_.find("jobsets.jobset.x-k8s.io", train_job);
    return job_set && train_job_of(api::parse_meta(job_set->object).controller_uid) ? job_set : nullptr;
}

// The status does not know of it yet.
bool Invariants::was_corrected_since(const Json& job_set, const api::TrainJob& job) {
    const Json& made = job_set["spec"]["replicatedJobs"][std::size_t{0}]["template"]["spec"];
    const Json& image = job.spec["trainer"]["image"];
    const Json& nodes = job.spec["trainer"]["numNodes"];
    const std::string spec = to_json(job.spec);
    bool has_withdrawn_label = false;
    for (const auto& [label, value] : made["template"]["metadata"]["labels"].members())
        has_withdrawn_label = has_withdrawn_label ||
                              (label.starts_with("example.com/") && spec.find(label) == std::string::npos);
    const bool differs =
        has_withdrawn_label ||
        (image.is_string() && made["template"]["spec"]["containers"][std::size_t{0}]["image"] != image) ||
        (nodes.as_int() && made["parallelism"] != nodes);
    // A suspension that is stored first says what the job began with, but not yet that it has a JobSet.
    const bool is_shown = !job.jobs_status.empty() || api::is_true(job.conditions, api::condition::created);
    return !is_shown && differs;
}

void Invariants::note_start(const Json& before, const Json& after) {
    const auto note = [&](std::map<std::string, api::Time>& since, bool was, bool is) {
        if (!is)
            since.erase(api::parse_meta(after).uid);
        else if (!was)
            since[api::parse_meta(after).uid] = time_.wall_seconds();
    };
    const api::JobSet is = api::parse_job_set(after);
    const api::JobSet was = before.is_null() ? api::JobSet() : api::parse_job_set(before);
    const auto has_pods = [](const api::JobSet& job_set) {
        return !job_set.replicated_jobs.empty() && job_set.lacks_pods.empty();
    };
    const auto has_jobs = [](const api::JobSet& job_set) {
        return !job_set.replicated_jobs.empty() && !job_set.waits_for_others;
    };
    note(has_jobs_since_, has_jobs(was), has_jobs(is));
    note(has_pods_since_, has_pods(was), has_pods(is));
    note(running_since_, !before.is_null() && !was.suspend, !is.suspend);
}

// A job is reported as stalled by what a live read shows, since caches may be old.
void Invariants::check_stall(const api::TrainJob& before, const api::TrainJob& after) {
    const api::Condition* stalled = api::find_condition(after.conditions, api::condition::stalled);
    const api::Condition* known = api::find_condition(before.conditions, api::condition::stalled);
    if (!stalled || (known && known->reason == stalled->reason)) return;
    const bool lacks_jobs = stalled->reason == api::reason::jobs_not_created;
    if (!lacks_jobs && stalled->reason != api::reason::pods_not_created) return;
    const std::string name = api::to_string(after.meta.key());
    if (!has_looked()) return complain(name + " was reported as stalled without a look at its JobSet");
    const Stored* job_set = own_job_set(after.meta.key());
    const auto& started = lacks_jobs ? has_jobs_since_ : has_pods_since_;
    const auto since = job_set ? started.find(job_set->uid()) : started.end();
    if (since != started.end() && since->second < meant_.looked)
        complain(name + " was reported as stalled although its JobSet had started");
}

void Invariants::check_recreation(const Json& before, const api::TrainJob& job) {
    const std::string name = "JobSet " + api::to_string(job.meta.key());
    for (const api::JobStatus& each : api::parse_job_set(before).replicated_jobs)
        if (each.succeeded > 0) complain(name + " was deleted with what had finished");
    if (++recreations_[{job.meta.uid, job.meta.generation}] > 3)
        complain(name + " was deleted again and again");
}

// JobSet creates Jobs again that are deleted. A suspended Job may be deleted while its JobSet is being
// resumed: it has not been resumed itself.
void Invariants::check_job(const api::ObjectKey& key, const Json& before, const Json& after) {
    const std::string name = "Job " + api::to_string(key);
    if (before.is_null() || !(after.is_null() || api::parse_meta(after).deletion))
        return complain(name + " was written");
    const Stored* job_set =
        api_.find("jobsets.jobset.x-k8s.io",
                  {key.ns, std::string(before["metadata"]["labels"][api::job_set_name_label].as_string())});
    const auto life = job_set ? lives_.find(api::parse_meta(job_set->object).controller_uid) : lives_.end();
    if (life == lives_.end() || !life->second.is_managed_here)
        return complain(name + " of another JobSet was deleted");
    if (!before["spec"]["suspend"].bool_or(false) || before["status"]["active"].int_or(0) > 0)
        complain(name + " was deleted while it ran");
    const auto running = running_since_.find(job_set->uid());
    if (running != running_since_.end() && running->second < meant_.looked)
        complain(name + " of a running JobSet was deleted");
    if (is_finished(before)) complain("the finished " + name + " was deleted");
    if (!has_looked()) complain(name + " was deleted without a look at its TrainJob");
}

}  // namespace model
