#pragma once
#include <cstdint>
#include <string>
#include <vector>

/// Calls `work` in the function that count_instructions() measures. At most one call of a process is counted.
template <class Work>
[[gnu::noinline]] auto counted_by_callgrind(const Work& work) {
    return work();
}

/// The instructions for some number of items, and for twice as many.
struct Counts {
    std::uint64_t before = 0;
    std::uint64_t after = 0;

    double growth() const { return static_cast<double>(after) / static_cast<double>(before); }
};

/// Runs this program again under valgrind with the arguments "count", `arguments` and the number of items,
/// for `size` items and for twice as many, and counts the instructions in its counted_by_callgrind(). The
/// counts are the same on a busy machine and whatever the caches hold. Ends the process with a message if
/// valgrind does not run, or if the child counts nothing.
Counts count_instructions(const std::vector<std::string>& arguments, std::size_t size);
