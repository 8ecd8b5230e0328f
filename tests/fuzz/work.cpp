#include "work.hpp"

#include <algorithm>
#include <cstddef>

// AddressSanitizer defines these; Debian's g++ lacks sanitizer/allocator_interface.h.
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                              void (*)(const volatile void*)) __attribute__((weak));
std::size_t __sanitizer_get_allocated_size(const volatile void*) __attribute__((weak));

// A third of the time is spent on stacks of allocations. Two frames suffice, because a finding can be
// reproduced with more (ASAN_OPTIONS=malloc_context_size=30).
const char* __asan_default_options() { return "malloc_context_size=2:quarantine_size_mb=32"; }
}

namespace {

Work done;
std::int64_t in_use = 0;

void on_malloc(const volatile void*, std::size_t size) {
    ++done.allocations;
    done.bytes += size;
    in_use += static_cast<std::int64_t>(size);
    done.peak = std::max(done.peak, static_cast<std::uint64_t>(std::max<std::int64_t>(in_use, 0)));
}

void on_free(const volatile void* memory) {
    if (memory) in_use -= static_cast<std::int64_t>(__sanitizer_get_allocated_size(memory));
}

}  // namespace

void start_work() {
    static const bool counts = __sanitizer_install_malloc_and_free_hooks &&
                               __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    (void)counts;
    done = {};
    in_use = 0;
}

Work work_done() { return done; }

std::uint64_t weight_of(const api::Json& tree) {
    std::uint64_t weight = 16 + tree.as_string().size();
    for (const api::Json& item : tree.items()) weight += weight_of(item);
    for (const auto& [key, value] : tree.members()) weight += key.size() + weight_of(value);
    return weight;
}
