#pragma once
#include <cstddef>
#include <string>

namespace runtime {

/// How many values (as api::count_values() counts) a runtime may hold: what is made of it is a tree, which
/// takes forty times its bytes at worst. A runtime that makes sense has some hundreds.
inline constexpr std::size_t max_runtime_values = 200'000;

/// The rule, for the author of such a runtime and of a TrainJob that names it: "holds ...".
inline std::string too_large_text(std::size_t values, std::size_t most = max_runtime_values) {
    return "holds " + std::to_string(values) + " values, and a runtime may hold " + std::to_string(most) +
           ": split it, or leave out what no job needs";
}

}  // namespace runtime
