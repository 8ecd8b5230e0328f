#pragma once

namespace net {

/// Makes the kernel map read-only pages of the program and its libraries in pieces of 8 KiB. By default, the
/// first use of a page maps the 64 KiB around it, and all of them count as resident memory: of code and
/// constants, a server uses less than half of that. Costs some more page faults. Call it once, before the
/// work; without support of the kernel, or with pages of more than 8 KiB, nothing changes. Thread rule: any
/// thread.
void map_program_in_small_pieces();

/// Returns the read-only pages of the program and its libraries to the system: the start uses many of them
/// once. Pages that are used again come from the page cache. Thread rule: any thread.
void give_program_back();

}  // namespace net
