#pragma once
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/rule_id.hpp"

namespace api {

/// A hint for the author of an object under review.
struct Warning {
    std::string text = {};
    RuleId rule = {};  ///< of the warning

    bool operator==(const Warning&) const = default;
};

/// Warnings in the order in which they were found: the first 32 with different texts, and the number of the
/// others. A runtime of a megabyte can cause a hundred thousand, of which an API server forwards 4 KiB. Texts
/// that an API server would drop are not stored (empty ones, and those with control characters). Texts are
/// cut after 256 characters, as an API server does.
class Warnings {
public:
    using Kept = std::vector<Warning>;

    Warnings() = default;
    Warnings(std::initializer_list<Warning> warnings);

    /// Adds a warning. One that is stored already is not counted again.
    void push_back(Warning warning);
    void push_back(std::string text) { push_back(Warning{.text = std::move(text)}); }
    /// Sets the rule of the stored warnings from position `begin` on that have none.
    void name_rule(std::size_t begin, RuleId rule);
    void append(Warnings warnings);

    bool empty() const { return kept_.empty(); }
    std::size_t size() const { return kept_.size(); }  ///< number of stored warnings
    std::size_t more() const { return more_; }         ///< number of warnings that are not stored
    const Kept& kept() const { return kept_; }
    Kept::const_iterator begin() const { return kept_.begin(); }
    Kept::const_iterator end() const { return kept_.end(); }
    const Warning& operator[](std::size_t index) const { return kept_[index]; }

    bool operator==(const Warnings&) const = default;

private:
    Kept kept_ = {};
    std::size_t more_ = 0;
};

}  // namespace api
