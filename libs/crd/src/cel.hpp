#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "api/json.hpp"

/// The part of the Common Expression Language that rules of CRDs need: operators, has(), size(), type(),
/// matches() and the other string tests, and the macros all, exists, filter and map.
///
/// Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md
namespace crd::cel {

/// The error of an expression without a value. && and || can absorb it.
struct Error {
    std::string text = {};
};

/// A type as a value: type(self) == int.
struct TypeName {
    std::string name = {};
    bool operator==(const TypeName&) const = default;
};

using Value = std::variant<api::Json, TypeName, Error>;
/// The variables: self, oldSelf and those of macros.
using Names = std::map<std::string, api::Json, std::less<>>;

class Node {
public:
    virtual ~Node() = default;
    virtual Value value(const Names& names) const = 0;
};

class Expression {
public:
    /// Throws std::invalid_argument for an unsupported expression.
    explicit Expression(std::string_view text);

    Value value(const Names& names) const { return root_->value(names); }
    /// Returns whether the name occurs in the expression.
    bool mentions(std::string_view name) const;

private:
    std::string text_;
    std::shared_ptr<const Node> root_;
};

}  // namespace crd::cel
