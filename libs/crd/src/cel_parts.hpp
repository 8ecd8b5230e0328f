#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "cel.hpp"

// Operators and functions on values. Wrong types return an error.
namespace crd::cel {

Value error(std::string text);
/// Returns nullptr if the value is a type or an error.
const api::Json* json(const Value& value);
Value truth(bool value);

/// ==, !=, <, <=, >, >=, in, +, -
Value binary(std::string_view sign, const Value& left, const Value& right);
Value negated(std::string_view sign, const Value& of);
/// Returns a member of a map or an item of a list.
Value member(const Value& of, const Value& key);

/// Returns size(x), type(x) or a string test such as x.matches(…). Throws std::invalid_argument for an
/// unsupported function.
using Function = std::function<Value(const std::vector<Value>& arguments)>;
Function function(std::string_view name, std::size_t arguments);

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
