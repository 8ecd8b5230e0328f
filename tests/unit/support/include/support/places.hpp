#pragma once
#include <filesystem>

namespace test {

/// The checkout that the tests were built from. Its path is compiled into one file, so that all others are
/// the same in every checkout and a compiler cache can share them.
std::filesystem::path source();

/// tests/data.
std::filesystem::path data();

}  // namespace test
