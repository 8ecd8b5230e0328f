#include "heap.hpp"

#include <malloc.h>

#include <optional>
#include <utility>

#include "net/process/program_pages.hpp"

namespace reconciler {
namespace {

// The start has done its work by then, and memory is looked at soon after a start.
constexpr std::chrono::seconds start{2};
constexpr std::chrono::seconds calm{5};
// For blocks above this, malloc maps pages of their own and returns them at once. It is set here, because
// malloc would raise the limit after the first long answer, and then mix such blocks with long-lived ones.
constexpr int pages_of_their_own = 128 * 1024;
constexpr std::uint64_t objects_worth_a_trim = 100;

}  // namespace

void keep_heap_small() {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, pages_of_their_own);
}

net::Task<> trim_heap_when_calm(kube::Clock& clock, std::function<std::uint64_t()> work_done,
                                std::function<void()> trim) {
    std::optional<std::uint64_t> trimmed_after;
    std::uint64_t before = 0;
    for (auto time = start;; time = calm) {
        co_await clock.sleep_until(clock.now() + time);
        const std::uint64_t now = work_done();
        const bool is_calm = std::exchange(before, now) == now;
        if (!is_calm || now == trimmed_after) continue;
        trimmed_after = now;
        trim();
    }
}

std::uint64_t heap_work(std::uint64_t reconciles, std::uint64_t objects_brought) {
    return reconciles + objects_brought / objects_worth_a_trim;
}

void give_memory_back() {
    malloc_trim(0);
    net::give_program_back();
}

}  // namespace reconciler
