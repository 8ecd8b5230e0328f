#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "admission/reviews.hpp"

namespace admission {

/// One path that the API server calls.
struct Route {
    std::string_view path;
    std::string_view kind;  ///< the only kind of the path, of api::trainer_api_version
    /// Returns the objects that `review` needs; nullptr: nothing but the request.
    runtime::RequiredInputs (*lookups)(const api::AdmissionRequest& request) = nullptr;
    /// Returns the verdict on a CREATE or UPDATE of `kind`, or on a DELETE if `reviews_deletions`. Pure, with
    /// objects of any shape.
    api::Verdict (*judge)(const Review& review, const ReviewContext& with);
    bool reads_train_job = false;  ///< `judge` takes TrainJobs, and no JSON
    bool reviews_deletions = false;
    /// The parts of a CREATE request that `judge` does not read: see api::decode_admission_review().
    api::JsonPaths unread_on_create = {};
};

/// Returns all routes; paths are unique.
std::span<const Route> routes();

/// Returns the route; nullptr if there is none. `target` is a path with or without a query.
const Route* find_route(std::string_view target);

}  // namespace admission
