#include "net/process/program_pages.hpp"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace net {
namespace {

// Smaller pieces save little more. Each takes about 200 bytes of the kernel's memory, 0.3 MiB in all, which
// counts for the Pod, though not as resident memory of the process. Larger pages stay whole.
constexpr std::uintptr_t piece = 8 * 1024;

struct Range {
    std::uintptr_t begin;
    std::uintptr_t end;
};

// All advice of this file is optional: on an error the pages stay as they are.
bool advise(const Range& range, int advice) {
    return ::madvise(reinterpret_cast<void*>(range.begin), range.end - range.begin, advice) == 0;
}

// Code and constants. The program never writes to these pages, so nothing of its own can be lost. Breakpoints
// that a debugger has set in them go with them.
template <void (*Use)(const Range&)>
int for_each_read_only_segment(dl_phdr_info* file, std::size_t, void*) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    for (int i = 0; i < file->dlpi_phnum; ++i) {
        const auto& segment = file->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W)) continue;
        const std::uintptr_t begin = file->dlpi_addr + segment.p_vaddr;
        Use({begin & ~(page - 1), begin + segment.p_memsz});
    }
    return 0;
}

// The kernel keeps neighbours with different flags as separate mappings, and maps no page around a fault in
// another mapping. This flag leaves a page out of core dumps, which by default have no pages of files anyway,
// except for the first one of each, which debuggers read. A process with as many mappings as the system
// allows gets no more memory, so in that case the segment stays whole.
void split(const Range& segment) {
    for (std::uintptr_t at = segment.begin + piece; at < segment.end; at += 2 * piece) {
        if (advise({at, std::min(at + piece, segment.end)}, MADV_DONTDUMP)) continue;
        advise(segment, MADV_DODUMP);
        return;
    }
}

void give_back(const Range& segment) { advise(segment, MADV_DONTNEED); }

}  // namespace

void map_program_in_small_pieces() { dl_iterate_phdr(for_each_read_only_segment<split>, nullptr); }

void give_program_back() { dl_iterate_phdr(for_each_read_only_segment<give_back>, nullptr); }

}  // namespace net
