#pragma once
#include <cstddef>
#include <string_view>

namespace api::yaml {

/// How many tokens yaml-cpp makes of a text, at most; where lists are nested, more, as it takes longer there.
std::size_t count_tokens(std::string_view text);

}  // namespace api::yaml
