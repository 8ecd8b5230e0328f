#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/time.hpp"
#include "kube/client/request.hpp"

namespace progress {

/// The part of a stored TrainJob that the next write depends on.
struct StoredStatus {
    std::string uid = {};
    std::string resource_version = {};
    std::size_t bytes = 0;                   ///< of the whole TrainJob as JSON
    std::optional<api::Time> updated = {};   ///< trainerStatus.lastUpdatedTime
    std::optional<api::Time> bookmark = {};  ///< trainerStatus.lastProgressTime
    std::uint64_t progress = 0;              ///< progress_hash() of the stored status
    bool is_complete = false;                ///< the stored percentage is 100
};

/// `bytes`: the length of the text that `train_job` was read from.
StoredStatus stored_status(const api::Json& train_job, std::size_t bytes);

/// Returns the server-side apply to the TrainJob's status as field manager `trainer-status`, which takes over
/// the fields. `trainer_status` replaces the stored one. The API server ignores a UID in writes of a status,
/// so only the resource version protects another TrainJob of the same name from a late write.
kube::Request status_request(const api::ObjectKey& train_job, const std::string& resource_version,
                             api::Json trainer_status);

/// Returns whether the API server has refused a status because its CRD lacks lastProgressTime.
bool lacks_progress_time(const api::Error& error);

}  // namespace progress
