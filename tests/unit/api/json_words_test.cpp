#include "json/json_words.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

using namespace api;

TEST_CASE("the first special character is found at every position", "[api]") {
    std::string plain;
    for (int c = 0x20; c < 0x100; ++c)
        if (!is_special(static_cast<char>(c))) plain += static_cast<char>(c);
    for (std::size_t before = 0; before < 50; ++before)
        for (int c = 0; c < 0x100; ++c) {
            const auto special = static_cast<char>(c);
            if (!is_special(special)) continue;
            std::string text = plain.substr(before, before) + special + std::string(bytes_beyond, '"');
            CHECK(static_cast<std::size_t>(find_special(text.data()) - text.data()) == before);
            CHECK(static_cast<std::size_t>(plain_in_word(text.data())) == std::min<std::size_t>(before, 8));
        }
    for (std::size_t at = 0; at + bytes_beyond < plain.size(); ++at)
        CHECK(plain_in_word(plain.data() + at) == 8);
}
