#include "api/hash.hpp"

#include <catch2/catch.hpp>

using api::siphash;

// The vectors of the reference implementation: the key and the texts are 0, 1, 2, ...
TEST_CASE("the keyed hash is SipHash-2-4", "[api]") {
    constexpr api::HashKey key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    std::string text;
    for (char c = 0; c < 15; ++c) text += c;
    const std::string_view bytes = text;
    CHECK(siphash(key, "") == 0x726fdb47dd0e0e31);
    CHECK(siphash(key, bytes.substr(0, 1)) == 0x74f839c593dc67fd);
    CHECK(siphash(key, bytes.substr(0, 8)) == 0x93f5f5799a932462);
    CHECK(siphash(key, bytes) == 0xa129ca6149be45e5);
}

TEST_CASE("another key gives another hash", "[api]") {
    CHECK(siphash({1, 2}, "a") != siphash({1, 3}, "a"));
    CHECK(siphash({1, 2}, "a") != siphash({2, 2}, "a"));
}
