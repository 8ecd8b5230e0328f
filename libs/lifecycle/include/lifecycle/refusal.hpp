#pragma once
#include "api/error.hpp"

namespace lifecycle {

/// Returns whether the API server rejects the object itself: a 4xx that only a changed TrainJob, runtime,
/// quota or policy can mend, or a 500 since its kind does not know a field of it. Any other error (lost
/// connections, timeouts, conflicts, overload, a missing permission, a namespace that is being deleted) is no
/// verdict on the object.
bool is_rejection(const api::Error& error);

/// Returns an error that is_rejection(), although the API server was not asked.
api::Error rejection(std::string why, std::string field = {});

/// The cause of an error that is no verdict on the object.
enum class Obstacle {
    passing,    ///< a conflict, stale credentials, a namespace that is being deleted: it ends by itself
    server,     ///< an error of the API server or a webhook, overload, no answer
    permission  ///< RBAC denies the request
};
/// Returns the cause of an error that is not is_rejection().
Obstacle obstacle_of(const api::Error& error);

/// Returns whether the API server does not serve the kind of the object. A webhook's 404, and that of a
/// namespace that is gone, say nothing of the kind.
bool lacks_kind(const api::Error& error);

/// Returns whether a JobSet was refused only because a quota of the number of JobSets is full, and not more
/// than full: deleting one of the namespace makes room. The API server checks quotas last, so no other check
/// refuses the JobSet; but it names one quota only.
bool deletion_makes_room(const api::Error& refusal);

}  // namespace lifecycle
