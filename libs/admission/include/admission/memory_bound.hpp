#pragma once
#include <cstddef>

#include "admission/client_limits.hpp"
#include "admission/review_turns.hpp"
#include "admission/runtime_informer.hpp"
#include "admission/runtime_lister.hpp"
#include "net/server/source.hpp"

namespace admission {

/// The maximum memory of the process in bytes, by the compiled limits. docs/webhook-limits.md has the same
/// numbers, and tests/programs/limits checks them with the worst inputs.
namespace memory_bound {

inline constexpr std::size_t base = 20'000'000;        ///< the program, its caches and its watches
inline constexpr std::size_t of_connection = 100'000;  ///< a connection in the middle of a small request
inline constexpr std::size_t of_runtimes = RuntimeInformer::Bounds().of_all;
/// The memory of one value of a tree while it is parsed. The worst trees have numbers and empty containers; a
/// member counts as two values.
inline constexpr std::size_t of_value = 80;
/// A review that waits with its objects: their texts and values.
inline constexpr std::size_t of_kept_review = expensive_bytes + lookup_limits::kept_values * of_value;
/// The memory of lookups: the connections to the API server with usual objects, the reviews that wait with
/// their objects, the large object and the page, which take twice their size while they arrive, and the tree
/// of the large object.
inline constexpr std::size_t of_lookups =
    lookup_limits::connections * of_connection + lookup_limits::kept_reviews * of_kept_review +
    2 * (lookup_limits::largest_object + lookup_limits::largest_page) + max_runtime_values * of_value;
inline constexpr std::size_t of_source = 48;  ///< an address that has made new connections
/// The memory of one thread: a review and its trees, the largest snapshot while it is read, the trees of
/// runtimes, the lookups, and the addresses.
inline constexpr std::size_t of_thread =
    (2 * max_review_values + runtime::max_runtime_values + RuntimeLister::most_kept_values) * of_value +
    of_lookups + net::most_sources * of_source;

constexpr std::size_t of_process(std::size_t threads, std::size_t connections, std::size_t bytes_in_flight) {
    return base + of_connection * connections + bytes_in_flight + of_runtimes + of_thread * threads;
}

}  // namespace memory_bound
}  // namespace admission
