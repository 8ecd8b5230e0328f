#pragma once
#include <array>
#include <random>

#include "api/json.hpp"

/// Makes trees of every shape, with strings that are hard for writers and readers. The same seed gives the
/// same trees.
class RandomJson {
public:
    explicit RandomJson(unsigned seed) : random_(seed) {}

    api::Json tree(int levels = 4) {
        switch (below(levels > 0 ? 10u : 6u)) {
            case 0: return nullptr;
            case 1: return below(2) == 0;
            case 2: return integer();
            case 3: return number();
            case 6:
            case 7: return list(levels);
            case 8:
            case 9: return object(levels);
            default: return text();
        }
    }

    std::string text() {
        static constexpr std::array<std::string_view, 66> pieces = {
            "a",      "b",      "word",   " ",      "  ",         "\n",        "\n\n",   "\t",   "\r",   "\"",
            "'",      "\\",     "\\n",    "/",      ":",          ": ",        "#",      " #",   "-",    "- ",
            "---",    "...",    "?",      "? ",     ",",          "[",         "]",      "{",    "}",    "&",
            "*",      "!",      "|",      ">",      "%",          "@",         "`",      "=",    "~",    "<<",
            "0",      "1",      "1.5",    "0x1",    "1e3",        ".inf",      "yes",    "null", "on",   "y",
            "true",   "\x01",   "\x04",   "\x1b",   "\x7f",       "\u0085",    "\u00a0", "é",    "日本", "😀",
            "\u2028", "\u2029", "\ufeff", "\uffff", "\U0010ffff", "2026-01-01"};
        std::string text;
        for (unsigned n = below(6); n > 0; --n) text += pieces[below(pieces.size())];
        if (below(20) == 0) text += '\0';
        if (below(100) == 0) text += std::string(1500, 'x');
        return text;
    }

    unsigned below(std::size_t limit) {
        return static_cast<unsigned>(std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_));
    }

private:
    std::int64_t integer() {
        constexpr std::int64_t values[] = {
            0, -1, 7, 1'000'000'000'000, INT64_MAX, INT64_MIN, 9007199254740993};
        return values[below(std::size(values))];
    }
    double number() {
        constexpr double values[] = {0.5,    -1.25, 1e22,          1.7976931348623157e308,
                                     5e-324, 0.1,   123456789.125, 3.0};
        return values[below(std::size(values))];
    }
    api::Json list(int levels) {
        api::Json list = api::Json::array();
        for (unsigned n = below(4); n > 0; --n) list.push_back(tree(levels - 1));
        return list;
    }
    api::Json object(int levels) {
        api::Json object = api::Json::object();
        for (unsigned n = below(4); n > 0; --n) object[text()] = tree(levels - 1);
        return object;
    }

    std::mt19937 random_;
};
