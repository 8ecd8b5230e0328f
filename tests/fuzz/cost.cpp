#include "cost.hpp"

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "work.hpp"

namespace {

constexpr std::size_t free_bytes = 2'000'000;
constexpr std::size_t free_nanoseconds = 200'000'000;

std::uint64_t cpu_nanoseconds() {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

int at_cost(const Cost& most, std::size_t size, const std::function<void()>& work) {
    const std::uint64_t most_bytes = free_bytes + most.bytes_per_byte * size;
    const std::uint64_t most_nanoseconds = free_nanoseconds + most.nanoseconds_per_byte * size;
    std::uint64_t nanoseconds = UINT64_MAX;
    for (int time = 0; time < 3 && nanoseconds > most_nanoseconds; ++time) {
        start_work();
        const std::uint64_t began = cpu_nanoseconds();
        work();
        nanoseconds = std::min(nanoseconds, cpu_nanoseconds() - began);
        if (const Work done = work_done(); done.peak > most_bytes) {
            std::fprintf(stderr, "%zu bytes take %llu bytes of memory, more than %llu\n", size,
                         static_cast<unsigned long long>(done.peak),
                         static_cast<unsigned long long>(most_bytes));
            std::abort();
        }
    }
    if (nanoseconds > most_nanoseconds) {
        std::fprintf(stderr, "%zu bytes take %llu ms of CPU, more than %llu\n", size,
                     static_cast<unsigned long long>(nanoseconds / 1'000'000),
                     static_cast<unsigned long long>(most_nanoseconds / 1'000'000));
        std::abort();
    }
    return 0;
}
