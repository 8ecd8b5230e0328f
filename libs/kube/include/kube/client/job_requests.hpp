#pragma once
#include "api/notes.hpp"
#include "kube/client/request.hpp"

namespace kube {

namespace resources {
inline constexpr Resource jobs = {"batch", "v1", "jobs", true};
inline constexpr Resource volume_claims = {"", "v1", "persistentvolumeclaims", true};
}  // namespace resources

/// Lists the Jobs with the label of this JobSet's name.
inline Request list_jobs(const api::ObjectKey& job_set) {
    const std::string selector = std::string(api::job_set_name_label).append("=").append(job_set.name);
    return {.target = path(resources::jobs, {job_set.ns, ""}) + "?labelSelector=" + percent_encode(selector)};
}

/// Returns the same write as a dry run: validated, but not stored.
inline Request dry_run(Request write) {
    write.target += "&dryRun=All";
    return write;
}

}  // namespace kube
