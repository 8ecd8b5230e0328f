#pragma once
#include <string>

#include "api/json.hpp"

namespace runtime {

/// The object with the annotation that remembers what was applied: a hash of the object itself, without that
/// annotation, uid and resourceVersion. After it, for a JobSet, the node selectors and tolerations of its
/// Pods as JSON: `{"<replicated job>": {"nodeSelector": {}, "tolerations": []}}`, those that are not empty.
/// Each of them is one field to server-side apply, whose managedFields forget us once somebody else writes
/// into it.
api::Json with_applied_hash(api::Json object);

/// The hash in that annotation; empty when there is none.
std::string applied_hash(const api::Json& object);

/// Nothing to write: `wanted`, which carries its hash, is what was applied last, and `live` still contains
/// it.
bool is_applied(const api::Json& wanted, const api::Json& live);

/// `wanted`, which carries its hash, is what was applied last to this JobSet but for `spec.suspend`.
bool differs_in_suspend_only(const api::Json& wanted, const api::Json& live);

}  // namespace runtime
