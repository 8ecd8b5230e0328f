#include "yaml/yaml_parts.hpp"

#include <array>

namespace api::yaml {
namespace {

// Measured: in deeply nested lists, an item takes four times as long as any other token.
constexpr std::size_t cost_of_item = 4;

}  // namespace

// An upper bound: each token begins with one of these characters or a line, or is the text before it. Quoted
// characters count too, since quotes are not recognized yet.
std::size_t count_tokens(std::string_view text) {
    constexpr std::string_view signs = "[]{},:?&*!'\"#|>%\n";
    constexpr std::string_view spaces = " \t\r\n";
    std::array<std::size_t, 256> cost = {};
    for (const char c : signs) cost[static_cast<unsigned char>(c)] = 1;
    std::size_t count = 1;
    for (std::size_t i = 0; i < text.size(); ++i) {
        count += cost[static_cast<unsigned char>(text[i])];
        // Within a word or a number it begins no token.
        const bool is_item =
            text[i] == '-' && (i + 1 == text.size() || spaces.find(text[i + 1]) != spaces.npos);
        if (is_item) count += cost_of_item;
    }
    return 2 * count;
}

}  // namespace api::yaml
