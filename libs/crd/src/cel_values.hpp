#pragma once
#include <functional>
#include <string_view>
#include <vector>

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

}  // namespace crd::cel
