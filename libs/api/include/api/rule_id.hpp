#pragma once
#include <concepts>
#include <string_view>

namespace api {

/// The rule of admission that an error or a warning is of. Made at compile time only, from a row of a table
/// of rules: no input adds one, so that metrics can have a series for each.
class RuleId {
public:
    constexpr RuleId() = default;  ///< none
    /// `code`: what metrics of the release before call the rule; empty for newer ones.
    consteval explicit RuleId(std::string_view name, std::string_view code = {}) : name_(name), code_(code) {}
    /// From an enumerator that has a row: there is a `RuleId id_of(Enum)`.
    template <class Enum>
    requires requires(Enum rule) {
        { id_of(rule) } -> std::same_as<RuleId>;
    }
    constexpr RuleId(Enum rule) : RuleId(id_of(rule)) {}

    constexpr std::string_view name() const { return name_; }  ///< "patch_targets"
    constexpr std::string_view code() const { return code_; }
    constexpr bool empty() const { return name_.empty(); }

    bool operator==(const RuleId&) const = default;
    friend bool operator==(const RuleId& rule, std::string_view name) { return rule.name_ == name; }

private:
    std::string_view name_ = {};
    std::string_view code_ = {};
};

}  // namespace api
