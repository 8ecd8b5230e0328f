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

/// Throws std::invalid_argument on what is not covered. The last one is an `end`.
std::vector<Token> tokens_of(std::string_view text);

}  // namespace crd::cel
