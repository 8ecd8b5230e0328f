#pragma once
#include <cstdint>
#include <functional>

#include "kube/client/clock.hpp"
#include "net/process/async.hpp"

namespace reconciler {

/// Sets up malloc for a process that lives for months on one thread. Call it first of all.
void keep_heap_small();

/// Calls `trim`, which gives memory back, when it has started, and whenever work has been done and then none
/// for a few seconds: lists and many passes at a time leave a heap full of holes, and what ran once is not
/// needed in memory. `work_done` counts. Ends by cancellation only.
net::Task<> trim_heap_when_calm(kube::Clock& clock, std::function<std::uint64_t()> work_done,
                                std::function<void()> trim);

/// What counts as work for that: each pass, and of the objects that watches bring every hundredth, so that a
/// replica which only follows is trimmed after a list or a storm, but not for each change that drips in.
std::uint64_t heap_work(std::uint64_t passes, std::uint64_t objects_brought);

/// The heap's free pages, and the pages of our program files: those that are used come back from the page
/// cache one by one.
void give_memory_back();

}  // namespace reconciler
