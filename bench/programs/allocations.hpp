#pragma once
#include <cstddef>

/// Returns how often the program has called operator new since its start. A program counts if it links
/// allocations.cpp. Only for programs with one thread.
std::size_t allocations();
