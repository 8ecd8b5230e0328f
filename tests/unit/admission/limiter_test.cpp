#include "admission/limiter.hpp"

#include <catch2/catch.hpp>
#include <vector>

using admission::Limiter;

TEST_CASE("the number of values in a text is never underestimated", "[limiter]") {
    struct Case {
        const char* json;
        std::size_t at_most;
    };
    const Case cases[] = {{"1", 1}, {"[]", 2}, {"[1,2,3]", 4}, {R"({"a":1,"b":[2]})", 6}, {R"("a,b")", 2}};
    for (const Case& c : cases) CHECK(admission::count_values(c.json) == c.at_most);
}

TEST_CASE("the number of waiting reviews is limited", "[limiter]") {
    Limiter limiter(2);
    std::vector<Limiter::Permit> waiting;
    waiting.push_back(limiter.take().value());
    waiting.push_back(limiter.take().value());
    CHECK_FALSE(limiter.take());
    waiting.pop_back();
    CHECK(limiter.take());
}

TEST_CASE("one client gets half of the places that the others leave", "[limiter]") {
    Limiter limiter(16);
    std::vector<Limiter::Permit> flood;
    while (auto permit = limiter.take("10.0.0.1")) flood.push_back(std::move(*permit));
    CHECK(flood.size() == 8);
    // Many requests of another client still leave a place for a third one.
    while (auto permit = limiter.take("10.0.0.2")) flood.push_back(std::move(*permit));
    CHECK(flood.size() == 12);
    const auto honest = limiter.take("10.0.0.3");
    CHECK(honest);
    flood.clear();
    std::size_t later = 0;
    while (auto permit = limiter.take("10.0.0.1")) flood.push_back(std::move(*permit)), ++later;
    CHECK(later == 7);
}

TEST_CASE("a client without a place gets the last one", "[limiter]") {
    Limiter limiter(1);
    CHECK(limiter.take("10.0.0.1"));
}
