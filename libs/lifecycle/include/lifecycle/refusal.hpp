#pragma once
#include "api/error.hpp"

namespace lifecycle {

/// Whether the API server refuses an object for what it is: a 4xx that only a changed TrainJob, runtime,
/// quota or policy can mend, or that its kind does not know a field of it (a 500). Everything else (lost
/// connections, timeouts, conflicts, overload, a permission that we lack, a namespace that goes away) is not
/// the object's fault.
bool is_rejection(const api::Error& error);

/// What stands in the way, by an error that does not speak against the object.
enum class Obstacle {
    passing,    ///< a conflict, stale credentials, a namespace that goes away: it goes by itself, or all goes
    server,     ///< no verdict: an error of the API server or a webhook, overload, no answer
    permission  ///< RBAC says no
};
Obstacle obstacle_of(const api::Error& error);

}  // namespace lifecycle
