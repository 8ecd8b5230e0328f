#include "progress/stored_status.hpp"

#include "api/names.hpp"
#include "progress/report.hpp"

namespace progress {

using api::Json;

StoredStatus stored_status(const Json& train_job, std::size_t bytes) {
    const Json& metadata = train_job["metadata"];
    const Json& trainer_status = train_job["status"]["trainerStatus"];
    const Report report = read_report(trainer_status);
    StoredStatus stored = {.uid = std::string(metadata["uid"].as_string()),
                           .resource_version = std::string(metadata["resourceVersion"].as_string()),
                           .bytes = bytes,
                           .updated = report.updated,
                           .progress = progress_hash(report),
                           .is_complete = report.percentage == 100};
    if (const auto time = api::as_time(trainer_status["lastProgressTime"].as_string()))
        stored.bookmark = *time;
    return stored;
}

kube::Request status_request(const api::ObjectKey& train_job, const std::string& resource_version,
                             Json trainer_status) {
    const Json object =
        Json::object({{"apiVersion", api::trainer_api_version},
                      {"kind", api::train_job_kind},
                      {"metadata", Json::object({{"name", train_job.name},
                                                 {"namespace", train_job.ns},
                                                 {"resourceVersion", resource_version}})},
                      {"status", Json::object({{"trainerStatus", std::move(trainer_status)}})}});
    return {.method = "PATCH",
            .target = kube::path(kube::resources::train_jobs, train_job) +
                      "/status?fieldManager=trainer-status&force=true",
            .content_type = "application/apply-patch+yaml",
            .body = api::to_json(object)};
}

bool lacks_progress_time(const api::Error& error) {
    return error.message.find("lastProgressTime") != std::string::npos &&
           error.message.find("field not declared in schema") != std::string::npos;
}

}  // namespace progress
