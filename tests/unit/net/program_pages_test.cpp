#include "net/process/program_pages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

namespace {

// Constants of the program, of more pages than the kernel maps around a page fault.
constexpr std::size_t table_bytes = 512 * 1024;
constexpr std::array<unsigned char, table_bytes> make_table() {
    std::array<unsigned char, table_bytes> table = {};
    for (std::size_t i = 0; i < table.size(); i += 1024) table[i] = 7;
    return table;
}
constexpr std::array<unsigned char, table_bytes> table = make_table();

const volatile unsigned char& entry(std::size_t at) { return table[at]; }

// Returns how many of the table's pages this process has mapped, by bit 63 of /proc/self/pagemap. Pages at
// both ends are left out: neighbours of the table may bring them.
std::ptrdiff_t mapped_pages_of_table() {
    constexpr std::size_t margin = 16 * 1024;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    std::vector<std::uint64_t> pages((table_bytes - 2 * margin) / page);
    const int pagemap = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    REQUIRE(pagemap >= 0);
    const auto first = reinterpret_cast<std::uintptr_t>(table.data() + margin) / page;
    const auto bytes = static_cast<ssize_t>(pages.size() * sizeof(std::uint64_t));
    const auto got = ::pread(pagemap, pages.data(), static_cast<std::size_t>(bytes),
                             static_cast<off_t>(first * sizeof(std::uint64_t)));
    ::close(pagemap);
    REQUIRE(got == bytes);
    return std::ranges::count_if(pages, [](std::uint64_t entry) { return entry >> 63 != 0; });
}

}  // namespace

TEST_CASE("returned pages of the program read the same when they are used again, and come in small pieces") {
    // Once they have been read, the pages are in the page cache, from which a page fault maps several.
    for (std::size_t i = 0; i < table_bytes; i += 1024) REQUIRE(entry(i) == 7);
    CHECK(mapped_pages_of_table() > 100);

    net::map_program_in_small_pieces();
    net::give_program_back();
    CHECK(mapped_pages_of_table() == 0);
    CHECK(entry(table_bytes / 2) == 7);
    CHECK(mapped_pages_of_table() <= 2);
}
