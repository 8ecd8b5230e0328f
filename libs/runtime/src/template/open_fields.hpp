#pragma once
#include <string_view>

#include "api/json.hpp"

namespace runtime {

/// The fields of a Pod template that may change while a JobSet is suspended (JobSet's webhook).
inline constexpr std::string_view open_metadata[] = {"labels", "annotations"};
inline constexpr std::string_view open_spec[] = {"nodeSelector", "tolerations", "schedulingGates"};

/// Copies a member of `from`, or removes it if `from` has none.
void take(api::Json& into, std::string_view member, const api::Json& from);

/// Copies the open fields of a replicated job.
void take_open_fields(api::Json& job, const api::Json& from);

/// Returns the replicated job without them; also for a patch of one.
void erase_open_fields(api::Json& job);

}  // namespace runtime
