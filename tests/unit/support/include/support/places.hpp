#pragma once
#include <filesystem>

namespace test {

/// Returns the checkout from which the tests were built. Its path is compiled into one file, so that all
/// others are the same in every checkout and a compiler cache can share them.
std::filesystem::path source();

/// Returns tests/data.
std::filesystem::path data();

}  // namespace test
