#include "support/places.hpp"

namespace test {

std::filesystem::path source() { return SIGNALBOX_SOURCE; }

std::filesystem::path data() { return source() / "tests" / "data"; }

}  // namespace test
