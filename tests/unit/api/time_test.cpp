#include "api/time.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using namespace api;
using namespace std::chrono_literals;

TEST_CASE("a time is read in UTC, whole seconds", "[api]") {
    const std::pair<const char*, const char*> cases[] = {
        {"2026-01-15T10:00:00Z", "2026-01-15T10:00:00Z"},
        {"2026-01-15t10:00:00z", "2026-01-15T10:00:00Z"},
        {"2026-01-15T10:00:00.999999999Z", "2026-01-15T10:00:00Z"},
        {"2026-01-15T10:00:00+05:30", "2026-01-15T04:30:00Z"},
        {"2026-01-15T10:00:00-00:30", "2026-01-15T10:30:00Z"},
        {"2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00Z"},
        {"2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"},
        {"2000-02-29T23:59:59Z", "2000-02-29T23:59:59Z"},
        {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"},
        {"1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"},
        {"0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"},
        {"9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"},
    };
    for (const auto& [text, want] : cases) {
        const auto time = parse_time(text);
        INFO(text);
        REQUIRE(time);
        CHECK(format_time(*time) == want);
        CHECK(as_time(text) == *time);
    }
    CHECK(*parse_time("1970-01-01T00:01:00Z") == Time(60s));
}

TEST_CASE("text that is not a time is refused", "[api]") {
    for (const char* text : {"",
                             "now",
                             "2026-01-15",
                             "2026-01-15T10:00:00",
                             "2026-01-15 10:00:00Z",
                             "2026-1-15T10:00:00Z",
                             "2026-13-01T00:00:00Z",
                             "2026-00-01T00:00:00Z",
                             "2026-01-00T00:00:00Z",
                             "2026-04-31T00:00:00Z",
                             "2025-02-29T00:00:00Z",
                             "1900-02-29T00:00:00Z",
                             "2026-01-15T24:00:00Z",
                             "2026-01-15T10:60:00Z",
                             "2026-01-15T10:00:61Z",
                             "2026-01-15T10:00:00.Z",
                             "2026-01-15T10:00:00,5Z",
                             "2026-01-15T10:00:00Z ",
                             " 2026-01-15T10:00:00Z",
                             "2026-01-15T10:00:00+5:30",
                             "2026-01-15T10:00:00+0530",
                             "2026-01-15T10:00:00+24:00",
                             "2026-01-15T10:00:00+05:60",
                             "-026-01-15T10:00:00Z",
                             "2026-01--5T10:00:00Z",
                             "2026-01-15T+1:00:00Z",
                             "02026-01-15T10:00:00Z",
                             "2026\r01\r15T10:00:00Z",
                             "2026-01-15T10\x1A"
                             "00:00Z",
                             "0000-01-01T00:00:00+00:01",
                             "9999-12-31T23:59:59-00:01"}) {
        INFO(text);
        CHECK(parse_time(text).has_error());
    }
    CHECK(parse_time(std::string(1000, 'x')).error().message.size() < 120);
}

TEST_CASE("every day of four centuries is written as it was read", "[api]") {
    const Time first = *parse_time("1900-01-01T12:34:56Z");
    const Time last = *parse_time("2300-12-31T12:34:56Z");
    for (Time time = first; time <= last; time += 24h) {
        const auto back = parse_time(format_time(time));
        if (!back || *back != time) FAIL(format_time(time));
    }
}

TEST_CASE("a time beyond four-digit years is written as the nearest one", "[api]") {
    CHECK(format_time(Time::max()) == "9999-12-31T23:59:59Z");
    CHECK(format_time(Time::min()) == "0000-01-01T00:00:00Z");
}
