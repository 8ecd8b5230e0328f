#pragma once
#include <cstddef>

namespace lifecycle {

/// The bound of `status.failures[].message`, in bytes; also in the schema.
inline constexpr std::size_t most_of_failure_message = 512;

}  // namespace lifecycle
