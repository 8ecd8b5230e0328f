#pragma once
#include <string_view>

#include "api/json.hpp"

namespace runtime {

/// What may change while a JobSet is suspended, of a Pod template (JobSet's webhook).
inline constexpr std::string_view open_metadata[] = {"labels", "annotations"};
inline constexpr std::string_view open_spec[] = {"nodeSelector", "tolerations", "schedulingGates"};

/// A member as it is in `from`, or none where it has none.
void take(api::Json& into, std::string_view member, const api::Json& from);

/// Of a replicated job, the open fields of `from`.
void take_open_fields(api::Json& job, const api::Json& from);

/// The replicated job without them; of a patch of one as well.
void erase_open_fields(api::Json& job);

}  // namespace runtime
