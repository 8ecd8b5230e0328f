#pragma once
#include <cstdint>

#include "api/json.hpp"

/// What the program has taken from the allocator. Nothing in a build without AddressSanitizer, whose hooks
/// count it; not for programs of several threads.
struct Work {
    std::uint64_t allocations = 0;
    std::uint64_t bytes = 0;  ///< in all
    std::uint64_t peak = 0;   ///< the most that was in use at a time, less what was in use at start_work()
};

/// Counts from here.
void start_work();
/// Since start_work().
Work work_done();

/// How much there is of a tree: 16 for each value, and the characters of texts and keys.
std::uint64_t weight_of(const api::Json& tree);
