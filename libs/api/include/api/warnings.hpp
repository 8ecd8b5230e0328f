#pragma once
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/rule_id.hpp"

namespace api {

/// What an author should know of an object that is judged.
struct Warning {
    std::string text = {};
    RuleId rule = {};  ///< which it is of

    bool operator==(const Warning&) const = default;
};

/// Warnings in the order in which they were found: the first 32 whose texts differ, and the number of the
/// others. A runtime of a megabyte can be a reason for a hundred thousand, of which an API server passes on 4
/// KiB. What an API server would drop is not kept (empty texts, and those with control characters); texts are
/// cut after 256 characters, as an API server does.
class Warnings {
public:
    using Kept = std::vector<Warning>;

    Warnings() = default;
    Warnings(std::initializer_list<Warning> warnings);

    /// One that is kept already is not counted again.
    void push_back(Warning warning);
    void push_back(std::string text) { push_back(Warning{.text = std::move(text)}); }
    /// Says which rule those are of that are kept from position `begin` on, unless they say so themselves.
    void name_rule(std::size_t begin, RuleId rule);
    void append(Warnings warnings);

    bool empty() const { return kept_.empty(); }
    std::size_t size() const { return kept_.size(); }  ///< of those that are kept
    std::size_t more() const { return more_; }         ///< that are not
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
