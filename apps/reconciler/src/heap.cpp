#include "heap.hpp"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <optional>
#include <utility>

namespace reconciler {
namespace {

// The start has done its work by then, and memory is looked at soon after a start.
constexpr std::chrono::seconds start{2};
constexpr std::chrono::seconds calm{5};
// For blocks above this, malloc maps pages of their own and returns them at once. It is set here, because
// malloc would raise the limit after the first long answer, and then mix such blocks with long-lived ones.
constexpr int pages_of_their_own = 128 * 1024;
constexpr std::uint64_t objects_worth_a_trim = 100;

// Code and constants of the start, most of which run once: parsers of options and certificates, the tables of
// OpenSSL's algorithms. Read-only segments are never written, so nothing can be lost.
int unmap_unused(dl_phdr_info* file, std::size_t, void*) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    for (int i = 0; i < file->dlpi_phnum; ++i) {
        const auto& segment = file->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W)) continue;
        const std::uintptr_t begin = (file->dlpi_addr + segment.p_vaddr) & ~(page - 1);
        const std::uintptr_t end = file->dlpi_addr + segment.p_vaddr + segment.p_memsz;
        // Advice only: on an error the pages stay in memory.
        (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    }
    return 0;
}

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
    give_program_back();
}

void give_program_back() { dl_iterate_phdr(unmap_unused, nullptr); }

}  // namespace reconciler
