#pragma once
#include <cstddef>
#include <functional>

/// The allowed cost of an input: a fixed part, and a part for each of its bytes. Memory is the peak in use.
/// CPU is that of the sanitized program, several times the maximum of inputs of all kinds, so that a finding
/// is one on a busy machine as well. A cost that is not proportional to the input is far above.
struct Cost {
    std::size_t bytes_per_byte = 0;
    std::size_t nanoseconds_per_byte = 0;
};

/// Runs `work` on an input of `size` bytes. A higher cost is a finding; for CPU only if three runs exceed it.
int at_cost(const Cost& most, std::size_t size, const std::function<void()>& work);
