#pragma once
#include <cstdint>

namespace runtime {

/// The release of Kubeflow Trainer that is compiled into Kueue.
enum class KueueTypes : std::uint8_t { none, v2_2, v2_3 };

}  // namespace runtime
