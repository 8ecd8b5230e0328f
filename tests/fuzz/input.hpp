#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "api/json.hpp"

/// Returns the fuzzer's input as text.
inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

/// Returns the first `count` lines of an input. The last one is the rest; missing ones are empty.
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

/// Returns these lines as JSON; a line that is no JSON is null.
inline std::vector<api::Json> trees_of(std::string_view text, std::size_t count) {
    std::vector<api::Json> trees;
    for (const std::string_view part : parts_of(text, count)) {
        auto tree = api::parse_json(part);
        trees.push_back(tree ? std::move(*tree) : api::Json());
    }
    return trees;
}

/// A false condition is a finding, like a crash.
#define MUST_HOLD(condition)                                                     \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                        \
        }                                                                        \
    } while (false)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
