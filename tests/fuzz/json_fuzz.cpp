// Any bytes: a tree whose text parses to the same tree, or an error.
#include "input.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto tree = api::parse_json(text_of(data, size));
    if (!tree) return 0;
    const std::string text = to_json(*tree);
    const auto again = api::parse_json(text);
    MUST_HOLD(again && *again == *tree);
    MUST_HOLD(to_json(*again) == text);
    return 0;
}
