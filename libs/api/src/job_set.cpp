#include "api/job_set.hpp"

#include "api/names.hpp"

namespace api {

bool is_applied_by_us(const Json& object) {
    return !object["metadata"]["annotations"][applied_hash_annotation].is_null();
}

bool is_taken_over(const Json& job_set) {
    return !is_applied_by_us(job_set) || job_set["metadata"]["annotations"].contains(taken_over_annotation);
}

JobSet parse_job_set(const Json& object) {
    JobSet job_set;
    job_set.meta = parse_meta(object);
    job_set.applied_by_us = is_applied_by_us(object);
    job_set.taken_over = is_taken_over(object);
    job_set.suspend = object["spec"]["suspend"].bool_or(false);
    for (Condition& condition : parse_conditions(object["status"]["conditions"]))
        if (condition.is_true() && (condition.type == "Completed" || condition.type == "Failed"))
            job_set.finished = std::move(condition);
    job_set.replicated_jobs = parse_jobs_status(object["status"]["replicatedJobsStatus"]);
    return job_set;
}

}  // namespace api
