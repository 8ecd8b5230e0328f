#include "lifecycle/refusal.hpp"

#include <algorithm>
#include <array>

namespace lifecycle {
namespace {

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// The API server's words, because its Status does not tell these apart from the verdict of a quota or policy.
// "... is forbidden: User "x" cannot create resource ...": RBAC. The second is the same for owner references
// (admission plugin OwnerReferencesPermissionEnforcement).
bool lacks_permission(std::string_view message) {
    return (contains(message, "forbidden: User \"") && contains(message, "\" cannot ")) ||
           contains(message,
                    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't");
}

bool namespace_terminates(std::string_view message) {
    return contains(message, "because it is being terminated");
}

// Server-side apply with a field that the kind does not have, such as one of a later release of JobSet.
bool knows_no_field(const api::Error& error) {
    return error.http_status == 500 && contains(error.message, "field not declared in schema");
}

// Kueue's webhook for JobSets denies so while its cache does not have the TrainJob that owns the JobSet.
bool webhook_misses_something(const api::Error& error) {
    return error.http_status == 404 && contains(error.message, "admission webhook \"");
}

}  // namespace

// docs/design/lifecycle.md#failures-and-retries has the reasons for this function and the next one.
bool is_rejection(const api::Error& error) {
    constexpr std::array transient = {401, 408, 409, 429};
    const int status = error.http_status;
    if (knows_no_field(error)) return true;
    if (error.code == api::Errc::conflict || webhook_misses_something(error)) return false;
    if (status < 400 || status >= 500 || std::count(transient.begin(), transient.end(), status)) return false;
    return status != 403 || !(lacks_permission(error.message) || namespace_terminates(error.message));
}

Obstacle obstacle_of(const api::Error& error) {
    const bool forbidden = error.http_status == 403;
    if (error.code == api::Errc::conflict || error.http_status == 409 || error.http_status == 401 ||
        (forbidden && namespace_terminates(error.message)))
        return Obstacle::passing;
    return forbidden && lacks_permission(error.message) ? Obstacle::permission : Obstacle::server;
}

}  // namespace lifecycle
