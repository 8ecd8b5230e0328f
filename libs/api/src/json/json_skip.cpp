#include "json/json_skip.hpp"

#include <cstring>
#include <string_view>

#include "api/json.hpp"
#include "api/text.hpp"
#include "json/json_words.hpp"

namespace api {
namespace {

const char* skip_word(const char* at, std::string_view word) {
    return std::strncmp(at, word.data(), word.size()) == 0 ? at + word.size() : nullptr;
}

bool is_short_escape(char c) {
    switch (c) {
        case '"':
        case '\\':
        case '/':
        case 'b':
        case 'f':
        case 'n':
        case 'r':
        case 't': return true;
        default: return false;
    }
}

// `text` is after the opening quote.
const char* skip_string(const char* at) {
    for (;; ++at) {
        at = find_special(at);
        if (*at == '"') return at + 1;
        if (*at != '\\') return nullptr;
        ++at;
        if (!is_short_escape(*at)) return nullptr;
    }
}

const char* skip_integer(const char* at) {
    // Any number of so many digits fits into 64 bits.
    constexpr int most_digits = 18;
    if (*at == '-') ++at;
    const char* const begin = at;
    while (is_digit(*at)) ++at;
    if (at == begin || at - begin > most_digits || (*begin == '0' && at - begin > 1)) return nullptr;
    return *at == '.' || *at == 'e' || *at == 'E' ? nullptr : at;
}

const char* skip_members(const char* at, std::size_t levels) {
    if (*at == '}') return at + 1;
    for (;; ++at) {
        if (*at != '"') return nullptr;
        at = skip_string(at + 1);
        if (!at || *at != ':') return nullptr;
        at = skip_json(at + 1, levels);
        if (!at) return nullptr;
        if (*at == '}') return at + 1;
        if (*at != ',') return nullptr;
    }
}

const char* skip_items(const char* at, std::size_t levels) {
    if (*at == ']') return at + 1;
    for (;; ++at) {
        at = skip_json(at, levels);
        if (!at) return nullptr;
        if (*at == ']') return at + 1;
        if (*at != ',') return nullptr;
    }
}

}  // namespace

const char* skip_json(const char* text, std::size_t levels) {
    switch (*text) {
        case '"': return skip_string(text + 1);
        case '{': return levels > 0 ? skip_members(text + 1, levels - 1) : nullptr;
        case '[': return levels > 0 ? skip_items(text + 1, levels - 1) : nullptr;
        case 't': return skip_word(text, "true");
        case 'f': return skip_word(text, "false");
        case 'n': return skip_word(text, "null");
        default: return skip_integer(text);
    }
}

std::size_t count_values(std::string_view json) {
    std::size_t count = 1;
    for (const char c : json)
        count += static_cast<std::size_t>(c == ',') + static_cast<std::size_t>(c == ':') +
                 static_cast<std::size_t>(c == '[') + static_cast<std::size_t>(c == '{');
    return count;
}

std::size_t count_tree_values(const Json& value) {
    std::size_t count = 1;
    for (const Json& item : value.items()) count += count_tree_values(item);
    for (const auto& [key, member] : value.members()) count += 1 + count_tree_values(member);
    return count;
}

}  // namespace api
