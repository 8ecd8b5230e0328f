#pragma once
#include <string>

namespace test {

/// Returns `text` with `to` instead of the first `from`, which must be in it.
inline std::string changed(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
}

}  // namespace test
