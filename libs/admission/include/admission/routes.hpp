#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "admission/reviews.hpp"

namespace admission {

/// One path that the API server calls.
struct Route {
    std::string_view path;
    std::string_view kind;  ///< the only one that is sent there, of our group and version
    /// Names what the judge has to be given; nullptr: it needs nothing but the request.
    runtime::RequiredInputs (*lookups)(const api::AdmissionRequest& request);
    /// Leaves of the request what encoding the answer takes.
    api::Verdict (*judge)(api::AdmissionRequest& request, const ReviewContext& with);
    bool reviews_deletions = false;
};

/// All of them; paths are unique.
std::span<const Route> routes();

/// nullptr if there is none. `target` is a path with or without a query.
const Route* find_route(std::string_view target);

}  // namespace admission
