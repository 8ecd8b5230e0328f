#pragma once
#include <memory>
#include <string>

#include "api/json.hpp"
#include "runtime/build.hpp"

namespace admission {

/// The maximum number of values of a runtime in reviews. The tree of such a runtime fits into the memory for
/// trees, so that it is not parsed again for each review. Stored runtimes are built up to
/// runtime::max_runtime_values.
inline constexpr std::size_t max_runtime_values = 50'000;

inline std::string too_large_text(std::size_t values) {
    return runtime::too_large_text(values, max_runtime_values);
}

/// A stored runtime: bytes, without the parts that no review reads.
struct RuntimeText {
    std::string json = {};  ///< empty if it is too large
    std::size_t values = 0;

    bool is_too_large() const { return values > max_runtime_values; }
    /// Returns its memory, with everything around it.
    std::size_t bytes() const { return json.capacity() + 2'000; }
};
using RuntimeTextPtr = std::shared_ptr<const RuntimeText>;

RuntimeTextPtr make_runtime_text(api::Json runtime);

}  // namespace admission
