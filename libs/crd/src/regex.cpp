#include "regex.hpp"

#include <stdexcept>
#include <string>

namespace crd {
namespace {

[[noreturn]] void refuse(std::string_view pattern) {
    throw std::invalid_argument("the pattern " + std::string(pattern) + " is not covered");
}

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Translates a pattern. POSIX would misread the extensions of Perl and RE2, such as \d, (?:a) and a*?, so
// they are unsupported.
std::string as_posix(std::string_view pattern) {
    std::string posix;
    bool in_brackets = false;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
        if (in_brackets) {
            if (c == '\\' || (c == '[' && next == ':')) refuse(pattern);
            in_brackets = c != ']';
            posix += c;
        } else if (c == '\\') {
            if (next == '\0' || is_letter_or_digit(next)) refuse(pattern);
            posix += {c, next};
            ++i;
        } else if (c == '.') {
            posix += "[^\n]";
        } else {
            const bool repeats = c == '*' || c == '+' || c == '?' || c == '}';
            if (next == '?' && (repeats || c == '(')) refuse(pattern);
            in_brackets = c == '[';
            posix += c;
        }
    }
    return posix;
}

}  // namespace

Regex::Regex(std::string_view pattern) {
    auto compiled = std::make_unique<regex_t>();
    if (::regcomp(compiled.get(), as_posix(pattern).c_str(), REG_EXTENDED | REG_NOSUB) != 0) refuse(pattern);
    compiled_ = std::shared_ptr<const regex_t>(compiled.release(), [](const regex_t* regex) {
        ::regfree(const_cast<regex_t*>(regex));
        delete regex;
    });
}

bool Regex::matches(std::string_view text) const {
    regmatch_t range = {.rm_so = 0, .rm_eo = static_cast<regoff_t>(text.size())};
    // A text with a zero byte at its end: POSIX requires it and does not define REG_STARTEND.
    const std::string ended(text);
    return ::regexec(compiled_.get(), ended.c_str(), 1, &range, REG_STARTEND) == 0;
}

}  // namespace crd
