#pragma once
#include <algorithm>
#include <cstddef>

#include "api/json.hpp"

/// The limits of what any client can cause by its reviews.
namespace admission {

/// The maximum number of values (a member counts twice) of a review. Two objects of etcd's limit of 1.5 MiB
/// have fewer. A tree can take forty times the bytes of a body that is made for it, so this limits its
/// memory.
inline constexpr std::size_t max_review_values = 500'000;

using api::count_tree_values;
using api::count_values;

/// Returns how many requests of a server with `connections` may wait for a lookup. The other connections are
/// for reviews without lookups, however slow the API server is: those that wait cannot be closed to make
/// room. At least one.
inline std::size_t lookup_permits(std::size_t connections) {
    return std::max<std::size_t>(connections / 2, 1);
}

/// Returns how many may wait for the review of their token; see AuthenticatedHandler. At least one.
inline std::size_t token_review_permits(std::size_t connections) {
    return std::max<std::size_t>(connections / 3, 1);
}

/// The runtimes whose live reads one thread counts at a time (net::KeyedRate). Others are not read live.
inline constexpr std::size_t most_reread_runtimes = 1024;

}  // namespace admission
