#include "kube/client/resource_version.hpp"

#include <catch2/catch.hpp>

using kube::VersionOrder;

TEST_CASE("resource versions compare as numbers", "[kube]") {
    struct Case {
        const char* left;
        const char* right;
        VersionOrder want;
    };
    const Case cases[] = {
        {"9", "10", VersionOrder::older},
        {"10", "9", VersionOrder::newer},
        {"10", "10", VersionOrder::same},
        {"0010", "10", VersionOrder::same},
        {"0", "00", VersionOrder::same},
        {"99999999999999999999998", "99999999999999999999999", VersionOrder::older},  // beyond 64 bits
        {"", "10", VersionOrder::unknown},
        {"10", "", VersionOrder::unknown},
        {"abc", "abc", VersionOrder::same},
        {"abc", "abd", VersionOrder::unknown},
        {"-1", "1", VersionOrder::unknown},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION("\"" << c.left << "\" and \"" << c.right << "\"") {
            CHECK(kube::compare_versions(c.left, c.right) == c.want);
        }
    }
}
