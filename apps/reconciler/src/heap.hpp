#pragma once
#include <cstdint>
#include <functional>

#include "kube/client/clock.hpp"
#include "net/process/async.hpp"

namespace reconciler {

/// Configures malloc for a process that runs for months on one thread. Call it first.
void keep_heap_small();

/// Calls `trim`, which returns memory to the system, after the start, and whenever work has been done and
/// then none for a few seconds. Lists and many concurrent reconciles leave unused memory in the heap, and
/// code of the start is not needed any more. `work_done` counts. Ends by cancellation only.
net::Task<> trim_heap_when_calm(kube::Clock& clock, std::function<std::uint64_t()> work_done,
                                std::function<void()> trim);

/// Returns the amount of work for that: each reconcile, and every hundredth object of the watches. So a
/// standby is trimmed after a list or many changes, but not for each single change.
std::uint64_t heap_work(std::uint64_t reconciles, std::uint64_t objects_brought);

/// Returns the heap's free pages to the system, and those of net::give_program_back().
void give_memory_back();

}  // namespace reconciler
