#pragma once
#include <chrono>
#include <optional>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "kube/client/clock.hpp"
#include "kube/client/request.hpp"

namespace progress {

/// The Lease with the time since when reports have been accepted without interruption: its acquireTime, as
/// long as its renewTime is recent. A progress deadline counts from then on at the earliest, so that an
/// outage of this server ends no job. Any replica may write it.
inline constexpr std::chrono::seconds availability_renewed_every{10};
/// A longer time without a renewal is an interruption.
inline constexpr std::chrono::seconds availability_lasts{60};
/// A replica does not renew the Lease if its reports have waited for longer.
inline constexpr std::chrono::seconds longest_available_wait{60};

/// Returns the write of a replica that accepts reports: a create without a Lease (null). With `reports_wait`
/// the time of availability starts again, and the Lease is not renewed. nullopt if there is nothing to write:
/// another replica has just renewed it.
std::optional<kube::Request> renewal(const api::ObjectKey& key, const api::Json& lease, bool reports_wait,
                                     kube::MicroTime now);

}  // namespace progress
