#include "admission/client_limits.hpp"

#include <catch2/catch.hpp>

TEST_CASE("the number of values in a text is never underestimated", "[limits]") {
    struct Case {
        const char* json;
        std::size_t at_most;
    };
    const Case cases[] = {{"1", 1}, {"[]", 2}, {"[1,2,3]", 4}, {R"({"a":1,"b":[2]})", 6}, {R"("a,b")", 2}};
    for (const Case& c : cases) CHECK(admission::count_values(c.json) == c.at_most);
}

TEST_CASE("permits are shared out among the connections of a server", "[limits]") {
    CHECK(admission::lookup_permits(256) == 128);
    CHECK(admission::token_review_permits(256) == 85);
    CHECK(admission::lookup_permits(1) == 1);
    CHECK(admission::token_review_permits(1) == 1);
}
