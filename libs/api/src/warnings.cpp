#include "api/warnings.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/text.hpp"

namespace api {
namespace {

constexpr std::size_t most_warnings = 32;
// The API server cuts longer ones if a request has many.
constexpr std::size_t longest_warning = 256;

// An HTTP header cannot contain other characters.
bool can_be_sent(std::string_view warning) {
    if (warning.empty()) return false;
    while (!warning.empty())
        if (const char32_t c = take_character(warning); c == invalid_character || is_control(c)) return false;
    return true;
}

}  // namespace

Warnings::Warnings(std::initializer_list<Warning> warnings) {
    for (const Warning& warning : warnings) push_back(warning);
}

void Warnings::name_rule(std::size_t begin, RuleId rule) {
    for (std::size_t i = begin; i < kept_.size(); ++i)
        if (kept_[i].rule.empty()) kept_[i].rule = rule;
}

void Warnings::push_back(Warning warning) {
    if (more_ > 0) {
        ++more_;
        return;
    }
    std::string& text = warning.text;
    text.resize(first_characters(text, longest_warning).size());
    const auto has = [this](const std::string& other) {
        return std::any_of(kept_.begin(), kept_.end(),
                           [&](const Warning& kept) { return kept.text == other; });
    };
    if (!can_be_sent(text) || has(text)) return;
    if (kept_.size() == most_warnings)
        ++more_;
    else
        kept_.push_back(std::move(warning));
}

void Warnings::append(Warnings warnings) {
    for (Warning& warning : warnings.kept_) push_back(std::move(warning));
    more_ += warnings.more_;
}

}  // namespace api
