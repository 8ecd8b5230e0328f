#pragma once
#include <chrono>

namespace webhook {

/// How long before it is made a certificate becomes valid: for clocks that are behind that of this process.
/// A wrong time zone is half a day.
inline constexpr std::chrono::hours backdated{24};

}  // namespace webhook
