#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"

namespace crd::cel {

struct Token {
    enum class Kind { name, literal, sign, end };
    Kind kind = Kind::end;
    std::string text = {};   ///< of a name or a sign
    api::Json literal = {};  ///< a number or a string
};

/// Splits a text into tokens; the last one is an `end`. Throws std::invalid_argument for an unsupported
/// character.
std::vector<Token> tokens_of(std::string_view text);

}  // namespace crd::cel
