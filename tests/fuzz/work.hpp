#pragma once
#include <cstdint>

#include "api/json.hpp"

/// The allocations of the program. AddressSanitizer's hooks count them: without it, the counts are zero. Only
/// for programs with one thread.
struct Work {
    std::uint64_t allocations = 0;
    std::uint64_t bytes = 0;  ///< sum of all allocations
    std::uint64_t peak = 0;   ///< peak in use, less the bytes in use at start_work()
};

/// Starts counting.
void start_work();
/// Returns the work since start_work().
Work work_done();

/// Returns the size of a tree: 16 for each value, and the characters of texts and keys.
std::uint64_t weight_of(const api::Json& tree);
