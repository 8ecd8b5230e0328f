#pragma once
#include <cstddef>

/// How often the program has called operator new since its start. Linking allocations.cpp makes it count; not
/// for programs of several threads.
std::size_t allocations();
