#pragma once
#include <memory>
#include <string>

#include "api/json.hpp"

namespace webhook {

/// How many values (as count_values() counts) a runtime may hold to be judged by: what reviews need of it is
/// a tree, which takes forty times its bytes at worst. A runtime that makes sense has some hundreds.
inline constexpr std::size_t max_runtime_values = 200'000;

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

/// The rule, for the author of such a runtime and of a TrainJob that names it: "holds ...".
std::string too_large_text(std::size_t values);

}  // namespace webhook
