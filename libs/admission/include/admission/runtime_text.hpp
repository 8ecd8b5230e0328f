#pragma once
#include <memory>
#include <string>

#include "api/json.hpp"
#include "runtime/size.hpp"

namespace admission {

/// How many values a runtime may hold to be judged by: the tree of one that may be used can be kept, so that
/// it is not read anew for each review. What is stored already is built up to runtime::max_runtime_values.
inline constexpr std::size_t max_runtime_values = 50'000;

inline std::string too_large_text(std::size_t values) {
    return runtime::too_large_text(values, max_runtime_values);
}

/// A runtime as it is kept: bytes, without what no review looks at.
struct RuntimeText {
    std::string json = {};  ///< empty if it is too large
    std::size_t values = 0;

    bool is_too_large() const { return values > max_runtime_values; }
    /// What it takes in memory, with all that surrounds it.
    std::size_t bytes() const { return json.capacity() + 2'000; }
};
using RuntimeTextPtr = std::shared_ptr<const RuntimeText>;

RuntimeTextPtr make_runtime_text(api::Json runtime);

}  // namespace admission
