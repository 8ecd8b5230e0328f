#pragma once
#include <cstddef>
#include <string_view>

namespace api::yaml {

/// Returns an upper bound of the number of yaml-cpp's tokens in a text. Nested lists count more, as they take
/// longer.
std::size_t count_tokens(std::string_view text);

}  // namespace api::yaml
