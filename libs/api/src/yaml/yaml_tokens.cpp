#include "yaml/yaml_tokens.hpp"

#include <array>

namespace api::yaml {
namespace {

// Measured: where lists are nested deeply, an item takes four times as long as any other token.
constexpr std::size_t cost_of_item = 4;

}  // namespace

// At most: each token begins with one of these or a line, or is what stands before it. What is quoted counts
// as well, since what is quoted is not known yet.
std::size_t count_tokens(std::string_view text) {
    constexpr std::string_view signs = "[]{},:?&*!'\"#|>%\n";
    constexpr std::string_view spaces = " \t\r\n";
    std::array<std::size_t, 256> cost = {};
    for (const char c : signs) cost[static_cast<unsigned char>(c)] = 1;
    std::size_t count = 1;
    for (std::size_t i = 0; i < text.size(); ++i) {
        count += cost[static_cast<unsigned char>(text[i])];
        // Within a word or a number it begins nothing.
        const bool is_item =
            text[i] == '-' && (i + 1 == text.size() || spaces.find(text[i + 1]) != spaces.npos);
        if (is_item) count += cost_of_item;
    }
    return 2 * count;
}

}  // namespace api::yaml
