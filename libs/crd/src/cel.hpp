#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "api/json.hpp"

/// The Common Expression Language, as far as rules of CRDs need it: operators, has(), size(), type(),
/// matches() and its kin, and the macros all, exists, filter and map.
///
/// Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md
namespace crd::cel {

/// Why there is no value; && and || may do without one.
struct Trouble {
    std::string text = {};
};

/// A type as a value: type(self) == int.
struct TypeName {
    std::string name = {};
    bool operator==(const TypeName&) const = default;
};

using Value = std::variant<api::Json, TypeName, Trouble>;
/// self, oldSelf and what macros name.
using Names = std::map<std::string, api::Json, std::less<>>;

class Node {
public:
    virtual ~Node() = default;
    virtual Value value(const Names& names) const = 0;
};

class Expression {
public:
    /// Throws std::invalid_argument on what is not covered.
    explicit Expression(std::string_view text);

    Value value(const Names& names) const { return root_->value(names); }
    /// Whether the name occurs.
    bool mentions(std::string_view name) const;

private:
    std::string text_;
    std::shared_ptr<const Node> root_;
};

}  // namespace crd::cel
