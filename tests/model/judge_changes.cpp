// Data and work that a change of a suspended job must never lose.
#include "api/job_set.hpp"
#include "api/notes.hpp"
#include "judge.hpp"

namespace faults {

using api::Json;

void Invariants::judge_recreation(const Json& before, const api::TrainJob& job) {
    const std::string name = "JobSet " + api::to_string(job.meta.key());
    for (const api::JobStatus& each : api::parse_job_set(before).replicated_jobs)
        if (each.succeeded > 0) complain(name + " was deleted with what had finished");
    if (++recreations_[{job.meta.uid, job.meta.generation}] > 3)
        complain(name + " was deleted again and again");
}

// JobSet creates Jobs again that are deleted from a suspended JobSet.
void Invariants::judge_job(const api::ObjectKey& key, const Json& before, const Json& after) {
    const std::string name = "Job " + api::to_string(key);
    if (before.is_null() || !(after.is_null() || api::parse_meta(after).deletion))
        return complain(name + " was written");
    const Stored* job_set =
        api_.find("jobsets.jobset.x-k8s.io",
                  {key.ns, std::string(before["metadata"]["labels"][api::job_set_name_label].as_string())});
    const auto life = job_set ? lives_.find(api::parse_meta(job_set->object).controller_uid) : lives_.end();
    if (life == lives_.end() || !life->second.ours) return complain(name + " of another JobSet was deleted");
    if (!before["spec"]["suspend"].bool_or(false) || before["status"]["active"].int_or(0) > 0)
        complain(name + " was deleted while it ran");
    if (!job_set->object["spec"]["suspend"].bool_or(false))
        complain(name + " of a running JobSet was deleted");
    if (before["status"].contains("conditions")) complain("the finished " + name + " was deleted");
    if (!has_looked()) complain(name + " was deleted without a look at its TrainJob");
}

}  // namespace faults
