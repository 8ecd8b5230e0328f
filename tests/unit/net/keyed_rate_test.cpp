#include "net/process/keyed_rate.hpp"

#include <catch2/catch.hpp>
#include <limits>

using net::KeyedRate;
using net::TokenBucket;
using namespace std::chrono_literals;

namespace {

constexpr TokenBucket::Time start = TokenBucket::Time(1000h);
constexpr std::size_t most = 1024;

// Returns how many of `asked` permits at one time are valid.
int take(KeyedRate& rate, std::uint64_t key, int asked, TokenBucket::Time now) {
    int given = 0;
    for (int i = 0; i < asked; ++i) given += rate.take(key, now) ? 1 : 0;
    return given;
}

}  // namespace

TEST_CASE("a token bucket allows a burst and then its rate", "[net]") {
    TokenBucket bucket(10, 3);
    for (int i = 0; i < 3; ++i) CHECK(bucket.reserve(start) == start);
    CHECK(bucket.reserve(start) - start == 100ms);
    CHECK(bucket.reserve(start) - start == 200ms);
    CHECK(bucket.reserve(start + 50ms) - start == 300ms);
    for (int i = 0; i < 3; ++i) CHECK(bucket.reserve(start + 1h) == start + 1h);  // no more than the burst
    CHECK(bucket.reserve(start + 1h) > start + 1h);
}

TEST_CASE("a look at the next permit takes none", "[net]") {
    TokenBucket bucket(10, 1);
    for (int i = 0; i < 3; ++i) CHECK(bucket.next(start) == start);
    CHECK(bucket.take(start));
    CHECK(bucket.next(start) - start == 100ms);
    CHECK(!bucket.take(start + 99ms));
    CHECK(bucket.take(start + 100ms));
}

TEST_CASE("extreme rates and bursts do not overflow", "[net]") {
    constexpr int largest = std::numeric_limits<int>::max();
    for (const double per_second : {1e-300, 1e-9, 1e9, 1e300}) {
        CAPTURE(per_second);
        TokenBucket small(per_second, 0), large(per_second, largest);
        CHECK(small.take(start));
        CHECK(large.take(start));
        CHECK(small.take(start + std::chrono::hours(24 * 366)));
    }
}

TEST_CASE("each key has a number of permits at once, and a rate", "[net]") {
    KeyedRate rate(20, 50, most, KeyedRate::Beyond::full);
    CHECK(take(rate, 1, 100, start) == 50);
    CHECK(!rate.take(1, start + 49ms));
    CHECK(rate.take(1, start + 50ms));
    CHECK(!rate.take(1, start + 50ms));
    int given = 0;
    for (auto now = start + 50ms; now < start + 10s; now += 1ms) given += rate.take(1, now) ? 1 : 0;
    CHECK(given == 198);
    // Keys do not share permits.
    CHECK(rate.take(2, start));
    CHECK(take(rate, 1, 100, start + 1h) == 50);
}

TEST_CASE("a permit of a key can be reserved in advance", "[net]") {
    KeyedRate rate(10, 1, most, KeyedRate::Beyond::empty);
    CHECK(rate.next(1, start) == start);
    CHECK(rate.reserve(1, start) == start);
    CHECK(rate.next(1, start) == start + 100ms);
    CHECK(rate.reserve(1, start) == start + 100ms);
    CHECK(rate.next(1, start) == start + 200ms);
    CHECK(rate.next(2, start) == start);
}

TEST_CASE("keys with all their permits use no memory", "[net]") {
    for (const auto beyond : {KeyedRate::Beyond::empty, KeyedRate::Beyond::full}) {
        KeyedRate rate(10, 5, most, beyond);
        for (std::uint64_t i = 0; i < 2 * most; ++i) rate.take(i, start + 1us * i);
        CHECK(rate.size() == most);
        CHECK(rate.take(1, start + 2s));
        CHECK(rate.take(most * 4, start + 4s));
        CHECK(rate.size() == 1);
    }
}

TEST_CASE("while too many keys lack permits, further ones are refused or not limited", "[net]") {
    KeyedRate refusing(2, 2, most, KeyedRate::Beyond::empty);
    KeyedRate allowing(2, 2, most, KeyedRate::Beyond::full);
    for (int second = 1; second <= 3; ++second) {
        const auto now = start + second * 1s;
        for (std::uint64_t i = 0; i < 3 * most; ++i) {
            CAPTURE(second, i);
            REQUIRE(refusing.take(i, now) == (i < most));
            REQUIRE(allowing.take(i, now));
        }
        CHECK(refusing.next(most, now) == KeyedRate::Time::max());
        CHECK(allowing.next(most, now) == now);
        CHECK(refusing.take(0, now));
        CHECK(!refusing.take(0, now));
        CHECK(refusing.size() == most);
        CHECK(allowing.size() == most);
    }
}
