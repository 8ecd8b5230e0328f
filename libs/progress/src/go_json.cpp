#include "go_json.hpp"

#include <optional>

#include "api/text.hpp"

namespace progress {
namespace {

// Reads "uXXXX".
std::optional<unsigned> unit(std::string_view text) {
    if (text.size() < 5 || text[0] != 'u') return std::nullopt;
    unsigned value = 0;
    for (const char c : text.substr(1, 4)) {
        value <<= 4;
        if (api::is_digit(c))
            value |= static_cast<unsigned>(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            value |= static_cast<unsigned>((c | 32) - 'a' + 10);
        else
            return std::nullopt;
    }
    return value;
}

bool is_surrogate(unsigned code) { return code >= 0xD800 && code < 0xE000; }

// Returns the next character in lower case. These two letters are the only ones beyond ASCII that fold into
// it.
char take_folded(std::string_view& text) {
    constexpr std::string_view long_s = "\xC5\xBF", kelvin = "\xE2\x84\xAA";
    for (const auto& [letter, folded] : {std::pair(long_s, 's'), std::pair(kelvin, 'k')}) {
        if (!text.starts_with(letter)) continue;
        text.remove_prefix(letter.size());
        return folded;
    }
    const char c = text.front();
    text.remove_prefix(1);
    return api::to_lower(c);
}

}  // namespace

char GoJson::peek() {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
    while (!rest_.empty() && blank(rest_.front())) rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_.front();
}

bool GoJson::take(char wanted) {
    if (peek() != wanted || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
}

bool GoJson::word(std::string_view wanted) {
    peek();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(wanted.size());
    return true;
}

bool GoJson::string(std::string& out) {
    out.clear();
    if (!take('"')) return false;
    while (!rest_.empty()) {
        const char c = rest_.front();
        if (c == '"') {
            rest_.remove_prefix(1);
            return true;
        }
        if (static_cast<unsigned char>(c) < 0x20) return false;
        if (c == '\\') {
            if (!escape(out)) return false;
            continue;
        }
        api::append_character(out, api::take_character(rest_));
    }
    return false;
}

bool GoJson::escape(std::string& out) {
    rest_.remove_prefix(1);
    if (rest_.empty()) return false;
    constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    if (const auto at = letters.find(rest_.front()); at != std::string_view::npos) {
        out += meanings[at];
        rest_.remove_prefix(1);
        return true;
    }
    const auto first = unit(rest_);
    if (!first) return false;
    rest_.remove_prefix(5);
    if (!is_surrogate(*first)) {
        api::append_character(out, *first);
        return true;
    }
    const auto second = rest_.starts_with('\\') ? unit(rest_.substr(1)) : std::nullopt;
    if (*first < 0xDC00 && second && *second >= 0xDC00 && *second < 0xE000) {
        api::append_character(out, 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00));
        rest_.remove_prefix(6);
    } else {
        api::append_character(out, api::invalid_character);
    }
    return true;
}

bool GoJson::number(std::string_view& out) {
    peek();
    std::size_t at = 0;
    const auto is = [&](std::string_view wanted) {
        return at < rest_.size() && wanted.find(rest_[at]) != std::string_view::npos;
    };
    const auto digits = [&] {
        const std::size_t begin = at;
        while (at < rest_.size() && api::is_digit(rest_[at])) ++at;
        return at > begin;
    };
    if (is("-")) ++at;
    if (is("0"))
        ++at;
    else if (!digits())
        return false;
    if (is(".")) {
        ++at;
        if (!digits()) return false;
    }
    if (is("eE")) {
        ++at;
        if (is("+-")) ++at;
        if (!digits()) return false;
    }
    out = rest_.substr(0, at);
    rest_.remove_prefix(at);
    return true;
}

bool GoJson::skip() {
    std::string text;
    std::string_view digits;
    switch (peek()) {
        case '{': return object([this](std::string_view) { return skip(); });
        case '[': return array([this] { return skip(); });
        case '"': return string(text);
        case 't': return word("true");
        case 'f': return word("false");
        case 'n': return null();
        default: return number(digits);
    }
}

bool is_field(std::string_view key, std::string_view name) {
    while (!key.empty() && !name.empty())
        if (take_folded(key) != take_folded(name)) return false;
    return key.empty() && name.empty();
}

}  // namespace progress
