#pragma once
#include <cstddef>

#include "review_budget.hpp"
#include "runtime_cache.hpp"
#include "runtime_text.hpp"
#include "runtime_view.hpp"

namespace webhook {

/// What the process takes at most, in bytes, by the limits that are compiled in. docs/webhook-limits.md
/// states the same numbers, and tests/programs/limits takes all that it can get.
namespace memory_bound {

inline constexpr std::size_t base = 20'000'000;  ///< the program, its caches and its connections upstream
inline constexpr std::size_t of_connection = 100'000;  ///< one in the middle of a small request
/// Bodies and answers by their bytes, and again by the trees of those that wait.
inline constexpr std::size_t per_byte_in_flight = 2;
inline constexpr std::size_t of_runtimes = RuntimeCache::Room().of_all;
/// A tree while it is read: of numbers and empty containers, members take two of it.
inline constexpr std::size_t of_value = 80;
/// A review and what is made of it, the largest snapshot while it is read, and the runtimes that are kept as
/// trees.
inline constexpr std::size_t of_thread =
    (2 * max_review_values + runtime::max_runtime_values + RuntimeView::most_kept_values) * of_value;

constexpr std::size_t of_process(std::size_t threads, std::size_t connections, std::size_t bytes_in_flight) {
    return base + of_connection * connections + per_byte_in_flight * bytes_in_flight + of_runtimes +
           of_thread * threads;
}

}  // namespace memory_bound
}  // namespace webhook
