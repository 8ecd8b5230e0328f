#include "settings/cores.hpp"

#include <catch2/catch.hpp>

TEST_CASE("a cgroup's quota is read as cores", "[cores]") {
    struct Case {
        const char* text;
        std::optional<int> want;
    };
    const Case cases[] = {
        {"max 100000\n", std::nullopt},
        {"200000 100000\n", 2},
        {"150000 100000", 2},
        {"50000 100000", 1},
        {"100000 100000", 1},
        {"300000 50000", 6},
        {"", std::nullopt},
        {"100000", std::nullopt},
        {"0 100000", std::nullopt},
        {"-1 100000", std::nullopt},
        {"x y", std::nullopt},
        {"100000 0", std::nullopt},
        {"9223372036854775807 100000", 1'000'000},
        {"9223372036854775808 100000", std::nullopt},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION("\"" << c.text << "\"") { CHECK(webhook::cores_of_quota(c.text) == c.want); }
    }
}

TEST_CASE("there is at least one core", "[cores]") { CHECK(webhook::available_cores() >= 1); }
