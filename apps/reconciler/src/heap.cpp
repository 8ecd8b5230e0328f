#include "heap.hpp"

#include <malloc.h>

#include <utility>

namespace reconciler {
namespace {

constexpr std::chrono::seconds calm{5};
// Beyond this, malloc takes pages of their own and gives them back at once. Said here because it would raise
// the limit by itself after the first long answer, and then mix those with what stays for days.
constexpr int pages_of_their_own = 128 * 1024;

}  // namespace

void keep_heap_small() {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, pages_of_their_own);
}

net::Task<> trim_heap_when_calm(kube::Clock& clock, std::function<std::uint64_t()> work_done,
                                std::function<void()> trim) {
    if (!trim) trim = [] { malloc_trim(0); };
    std::uint64_t trimmed_after = 0;
    std::uint64_t before = 0;
    for (;;) {
        co_await clock.sleep_until(clock.now() + calm);
        const std::uint64_t now = work_done();
        const bool is_calm = std::exchange(before, now) == now;
        if (!is_calm || now == trimmed_after) continue;
        trimmed_after = now;
        trim();
    }
}

}  // namespace reconciler
