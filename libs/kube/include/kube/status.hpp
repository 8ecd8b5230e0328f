#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "net/http.hpp"

namespace kube {

/// What a non-2xx answer means to us. `message` is the server's own, with those causes that it does not name
/// itself; `reason` is the Status's, except that a cause which calls for another decision goes first:
/// NamespaceTerminating (403) and ResourceVersionTooLarge (504). Bodies that are no Status (a proxy's page)
/// are quoted up to 512 bytes.
api::Error error_from(const net::HttpResponse& response);

/// The same for the Status object of a watch's ERROR event.
api::Error error_from_status(const api::Json& status);

/// "Warning: 299 - \"text\"" headers of an answer, as texts.
std::vector<std::string> warnings_of(const net::Headers& headers);

/// What RBAC would have to grant.
struct Permission {
    std::string verb = {};      ///< as in a role: "patch"
    std::string resource = {};  ///< as resource_of(), or "finalizers of the owner"

    auto operator<=>(const Permission&) const = default;
};
/// What a 403 says is missing; nullopt when a quota or another policy said no.
std::optional<Permission> missing_permission(const api::Error& error);
bool is_missing_permission(const api::Error& error);
/// 403 because the namespace is being deleted: nothing can be created there any more.
bool is_namespace_terminating(const api::Error& error);
/// The server has not seen that resource version yet, or never will (restored from a backup).
bool is_too_large_resource_version(const api::Error& error);
/// Worth the same request again, unchanged: 5xx, 429, 401, timeouts, lost connections.
bool is_transient(const api::Error& error);

}  // namespace kube
