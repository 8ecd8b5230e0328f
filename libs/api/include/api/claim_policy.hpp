#pragma once
#include "api/json.hpp"

namespace api {

/// Returns whether the volume claims of an entry of a JobSet's `volumeClaimPolicies` stay when the JobSet is
/// deleted. By JobSet's default they go with it.
inline bool retains_claims(const Json& claim_policy) {
    return claim_policy["retentionPolicy"]["whenDeleted"].as_string() == "Retain";
}

}  // namespace api
