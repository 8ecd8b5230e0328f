#pragma once
#include <cstddef>
#include <string>

namespace runtime {

/// The maximum number of values (as counted by api::count_values()) of a runtime. It is processed as a tree,
/// which takes forty times its bytes at worst. A usual runtime has some hundreds.
inline constexpr std::size_t max_runtime_values = 200'000;

/// Returns the rule for error messages about such a runtime, and about a TrainJob that refers to it: "holds
/// ...".
inline std::string too_large_text(std::size_t values, std::size_t most = max_runtime_values) {
    return "holds " + std::to_string(values) + " values, and a runtime may hold " + std::to_string(most) +
           ": split it, or leave out what no job needs";
}

}  // namespace runtime
