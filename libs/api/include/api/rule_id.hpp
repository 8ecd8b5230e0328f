#pragma once
#include <concepts>
#include <string_view>

namespace api {

/// The admission rule of an error or a warning. It is made at compile time only, from a row of a table of
/// rules. So no input adds a rule, and metrics can have a series for each.
class RuleId {
public:
    constexpr RuleId() = default;  ///< none
    consteval explicit RuleId(std::string_view name) : name_(name) {}
    /// From an enumerator with a row in the table: there is a function `RuleId id_of(Enum)`.
    template <class Enum>
    requires requires(Enum rule) {
        { id_of(rule) } -> std::same_as<RuleId>;
    }
    constexpr RuleId(Enum rule) : RuleId(id_of(rule)) {}

    constexpr std::string_view name() const { return name_; }  ///< "patch_targets"
    constexpr bool empty() const { return name_.empty(); }

    bool operator==(const RuleId&) const = default;
    friend bool operator==(const RuleId& rule, std::string_view name) { return rule.name_ == name; }

private:
    std::string_view name_ = {};
};

}  // namespace api
