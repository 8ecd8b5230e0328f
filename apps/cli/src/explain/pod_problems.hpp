#pragma once
#include <string>

#include "api/json.hpp"
#include "api/time.hpp"

namespace cli {

/// Sorts by Job, then by number.
bool comes_before(const api::Json& a, const api::Json& b);

/// Returns "Running", "Succeeded", ...; "Terminating" for a Pod that is being deleted, as kubectl does.
std::string phase_of(const api::Json& pod);

/// Returns "once", "3 times".
std::string times(std::int64_t count);

/// Returns a Pod's problem in one line; "" if it has none: not scheduled, images, containers that end or
/// restart, a node that does not release it.
std::string problem_of(const api::Json& pod, api::Time now);

}  // namespace cli
