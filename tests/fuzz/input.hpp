#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "api/json.hpp"

/// What the fuzzer made, as text.
inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

/// The lines of an input, `count` of them; those that are not there are empty, the last one is the rest.
inline std::vector<std::string_view> parts_of(std::string_view text, std::size_t count) {
    std::vector<std::string_view> parts;
    while (parts.size() + 1 < count) {
        const auto end = text.find('\n');
        parts.push_back(text.substr(0, end));
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    parts.push_back(text);
    return parts;
}

/// The same as JSON; a part that is none is null.
inline std::vector<api::Json> trees_of(std::string_view text, std::size_t count) {
    std::vector<api::Json> trees;
    for (const std::string_view part : parts_of(text, count)) {
        auto tree = api::parse_json(part);
        trees.push_back(tree ? std::move(*tree) : api::Json());
    }
    return trees;
}

/// A property that does not hold is a finding, as a crash is.
#define MUST_HOLD(condition)                                                     \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                        \
        }                                                                        \
    } while (false)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
