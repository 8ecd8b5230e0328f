#include "cel_parts.hpp"

#include <cctype>
#include <stdexcept>

#include "api/text.hpp"

namespace crd::cel {
namespace {

// Longer signs come before their prefixes.
constexpr std::string_view signs[] = {"==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "?",
                                      ":",  "+",  "-",  "(",  ")",  "[",  "]", ".", ","};

bool begins_name(char c) { return api::is_letter(c) || c == '_'; }

[[noreturn]] void fail(std::string_view text, std::size_t at) {
    throw std::invalid_argument("cannot read CEL at position " + std::to_string(at) +
                                " of: " + std::string(text));
}

// Reads a quoted string from its opening quote on; leaves `at` after the closing one.
std::string quoted(std::string_view text, std::size_t& at) {
    const char quote = text[at++];
    std::string value;
    for (; at < text.size() && text[at] != quote; ++at) {
        if (text[at] == '\\') {
            if (++at == text.size()) break;
            if (text[at] != '\\' && text[at] != '\'' && text[at] != '"') fail(text, at);
        }
        value += text[at];
    }
    if (at == text.size()) fail(text, at);
    ++at;
    return value;
}

std::string_view run(std::string_view text, std::size_t from, bool (*belongs)(char)) {
    std::size_t end = from;
    while (end < text.size() && belongs(text[end])) ++end;
    return text.substr(from, end - from);
}

}  // namespace

std::vector<Token> tokens_of(std::string_view text) {
    std::vector<Token> tokens;
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (std::isspace(static_cast<unsigned char>(c))) {
            ++at;
        } else if (c == '\'' || c == '"') {
            tokens.push_back({.kind = Token::Kind::literal, .literal = quoted(text, at)});
        } else if (api::is_digit(c)) {
            const std::string_view digits = run(text, at, api::is_digit);
            tokens.push_back({.kind = Token::Kind::literal, .literal = *api::parse_json(digits)});
            at += digits.size();
        } else if (begins_name(c)) {
            const auto word =
                run(text, at, [](char each) { return begins_name(each) || api::is_digit(each); });
            tokens.push_back({.kind = Token::Kind::name, .text = std::string(word)});
            at += word.size();
        } else {
            std::string_view found;
            for (const std::string_view sign : signs) {
                if (found.empty() && text.substr(at, sign.size()) == sign) found = sign;
            }
            if (found.empty()) fail(text, at);
            tokens.push_back({.kind = Token::Kind::sign, .text = std::string(found)});
            at += found.size();
        }
    }
    tokens.push_back({});
    return tokens;
}

}  // namespace crd::cel
