#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "cel.hpp"

// What operators and functions make of values. Wrong types make Trouble.
namespace crd::cel {

Value trouble(std::string text);
/// nullptr if it is no JSON value.
const api::Json* json(const Value& value);
Value truth(bool value);

/// ==, !=, <, <=, >, >=, in, +, -
Value binary(std::string_view sign, const Value& left, const Value& right);
Value negated(std::string_view sign, const Value& of);
/// A member of a map, or an item of a list.
Value member(const Value& of, const Value& key);

/// size(x), type(x) and x.matches(…); throws std::invalid_argument for functions that are not covered.
using Function = std::function<Value(const std::vector<Value>& arguments)>;
Function function(std::string_view name, std::size_t arguments);

}  // namespace crd::cel
