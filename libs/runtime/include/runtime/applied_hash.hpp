#pragma once
#include <string>

#include "api/json.hpp"

namespace runtime {

/// The object with the annotation that remembers what was applied: a hash of the object itself, without that
/// annotation, uid and resourceVersion.
api::Json with_applied_hash(api::Json object);

/// What that annotation says; empty when there is none.
std::string applied_hash(const api::Json& object);

/// Nothing to write: `wanted`, which carries its hash, is what was applied last, and `live` still contains
/// it.
bool is_applied(const api::Json& wanted, const api::Json& live);

/// `wanted`, which carries its hash, is what was applied last to this JobSet but for `spec.suspend`.
bool differs_in_suspend_only(const api::Json& wanted, const api::Json& live);

}  // namespace runtime
