#pragma once
#include <cstddef>
#include <functional>

/// What one input may take: so much for any, and so much more for each of its bytes. Memory is what is in use
/// at a time; CPU is that of the sanitized program, and several times what inputs of all kinds were seen to
/// take, since a finding is to be one on a busy machine as well. What is not proportional to its input is far
/// beyond.
struct Cost {
    std::size_t bytes_per_byte = 0;
    std::size_t nanoseconds_per_byte = 0;
};

/// Runs `work` on an input of `size` bytes. Taking more is a finding; CPU only if it is so each time of
/// three.
int at_cost(const Cost& most, std::size_t size, const std::function<void()>& work);
