#pragma once
#include <string>

#include "api/json.hpp"
#include "api/time.hpp"

namespace cli {

/// By Job, then by number.
bool comes_before(const api::Json& a, const api::Json& b);

/// "Running", "Succeeded", ...; "Terminating" for one that is being deleted, as kubectl says.
std::string phase_of(const api::Json& pod);

/// "once", "3 times".
std::string times(std::int64_t count);

/// What keeps a Pod from doing its work, in one line; "" if nothing does: not scheduled, images, containers
/// that end or are started over again, a node that does not let go of it.
std::string problem_of(const api::Json& pod, api::Time now);

}  // namespace cli
