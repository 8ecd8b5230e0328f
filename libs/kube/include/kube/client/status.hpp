#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "net/http/http.hpp"

namespace kube {

/// Whatever a server sends, logs, events and conditions get no more of it.
inline constexpr std::size_t max_status_message = 32 * 1024;

/// Returns the error of a response that is not 2xx. `message` is the server's own, with the causes that it
/// does not contain. `reason` is that of the Status, unless a cause decides more: NamespaceTerminating (403)
/// and ResourceVersionTooLarge (504). A body that is no Status, such as a proxy's page, is quoted up to 512
/// bytes. No message is longer than max_status_message.
api::Error error_from(const net::HttpResponse& response);

/// The same for the Status object in the ERROR event of a watch.
api::Error error_from_status(const api::Json& status);

/// Returns the texts of the "Warning: 299 - \"text\"" headers of a response.
std::vector<std::string> warnings_of(const net::Headers& headers);

/// A permission that a role would have to grant.
struct Permission {
    std::string verb = {};      ///< as in a role: "patch"
    std::string resource = {};  ///< as resource_of(), or "finalizers of the owner"

    auto operator<=>(const Permission&) const = default;
};
/// Returns the permission that is missing according to a 403; nullopt for a quota or another policy.
std::optional<Permission> missing_permission(const api::Error& error);
bool is_missing_permission(const api::Error& error);
/// A 403 because the namespace is being deleted: no object can be created in it any more.
bool is_namespace_terminating(const api::Error& error);
/// The server has not reached that resource version yet, or never will (it was restored from a backup).
bool is_too_large_resource_version(const api::Error& error);
/// Returns whether the same request may succeed later, unchanged: 5xx, 429, 401, timeouts, lost connections.
bool is_transient(const api::Error& error);

}  // namespace kube
