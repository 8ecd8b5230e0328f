#pragma once
#include <cstdint>

#include "api/json.hpp"

/// What is added to a Pod has to satisfy what the namespace demands of it (Pod Security, quotas), as the
/// Pod's own containers do.
namespace runtime {

/// Returns the securityContext of a container that is added beside `container`: what restricts that one, and
/// not what it may do beyond others. It has no capabilities, and gains no privileges.
api::Json restrictions_of(const api::Json& container);

/// Returns the requests and limits of CPU, memory and ephemeral storage, which are counted once for a
/// container and an init container beside it. Null if it has none.
api::Json compute_resources_of(const api::Json& container);

/// Returns whether the container runs as root, by what its Pod and it say: also if they leave the user to the
/// image, unless that must not be root.
bool may_be_root(const api::Json& pod_spec, const api::Json& container);

/// Returns the mode of a file of a Secret that the container has to read: `mode`, which the kubelet extends
/// for an fsGroup, or one for all users if the container's user is neither root nor in an fsGroup.
std::int64_t readable_mode(const api::Json& pod_spec, const api::Json& container, std::int64_t mode);

}  // namespace runtime
