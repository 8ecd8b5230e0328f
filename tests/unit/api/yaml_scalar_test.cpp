// The values of plain scalars. The tables were compared with sigs.k8s.io/yaml 1.6 (go.yaml.in/yaml/v2 2.4).
#include <catch2/catch.hpp>

#include "api/yaml.hpp"
#include "support/printers.hpp"

using namespace api;

namespace {

Json value_of(const std::string& scalar) {
    const auto document = parse_yaml("key: " + scalar + "\n");
    INFO(scalar);
    REQUIRE(document);
    return std::as_const(*document)["key"];
}

}  // namespace

TEST_CASE("YAML 1.1's words for true, false and null are no strings", "[api]") {
    for (const char* word : {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
        CHECK(value_of(word) == Json(true));
    for (const char* word : {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})
        CHECK(value_of(word) == Json(false));
    for (const char* word : {"", "~", "null", "Null", "NULL"}) CHECK(value_of(word).is_null());
    for (const char* word : {"yEs", "tRUE", "nULL", "oN", "nil", "none", "t", "yes!"})
        CHECK(value_of(word) == Json(word));
}

TEST_CASE("integers have four bases, signs and underscores", "[api]") {
    const std::pair<const char*, std::int64_t> cases[] = {
        {"0", 0},
        {"-0", 0},
        {"+5", 5},
        {"007", 7},
        {"0777", 511},
        {"0o17", 15},
        {"-017", -15},
        {"08", 8},
        {"0x1F", 31},
        {"0XfF", 255},
        {"-0x10", -16},
        {"0b101", 5},
        {"-0b11", -3},
        {"1_000", 1000},
        {"1__0_", 10},
        {"0x_1", 1},
        {"+_1", 1},
        {"00", 0},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"0x7FFFFFFFFFFFFFFF", INT64_MAX},
        {"-0x8000000000000000", INT64_MIN},
    };
    for (const auto& [text, want] : cases) {
        CHECK(value_of(text) == Json(want));
        CHECK(value_of(text).is_integer());
    }
}

TEST_CASE("whole floats are integers, as JSON on the way to Kubernetes makes them", "[api]") {
    for (const char* text : {"3.0", "3.", "3e0", "0.3e1", "+3.0"}) {
        CHECK(value_of(text) == Json(3));
        CHECK(value_of(text).is_integer());
    }
    CHECK(value_of("1e3").is_integer());
}

TEST_CASE("other numbers are doubles", "[api]") {
    const std::pair<const char*, double> cases[] = {
        {"1.5", 1.5},
        {".5", 0.5},
        {"-.5", -0.5},
        {"+.5e3", 500},
        {"1E-3", 0.001},
        {"1.5e300", 1.5e300},
        {"1e-999", 0},
        {"9223372036854775808", 0x1p63},
        {"18446744073709551615", 0x1p64},
        {"0xFFFFFFFFFFFFFFFF", 0x1p64},
        {"-9223372036854775809", -0x1p63},
        {"123456789012345678901234567890", 123456789012345678901234567890.0},
    };
    for (const auto& [text, want] : cases) CHECK(value_of(text).as_double() == want);
}

TEST_CASE("text that only looks like a number is a string", "[api]") {
    for (const char* text :
         {"+",     "--1", "0x",    "0xg",      "0b2", "0o8",   "1e",       "1e+",   ".",
          "..",    ".e3", "1.2.3", "1f",       "_1",  "1:30",  "10:20:30", "1e999", "0x1FFFFFFFFFFFFFFFF",
          "0x1p4", "inf", "nan",   "Infinity", "1 2", "1,000", "10%",      "500m",  "1.5Gi"})
        CHECK(value_of(text) == Json(text));
}

TEST_CASE("timestamps stay strings", "[api]") {
    for (const char* text :
         {"2026-01-15", "2026-01-15T10:00:00Z", "2026-01-15 10:00:00", "2001-12-14t21:59:43.10-05:00"})
        CHECK(value_of(text) == Json(text));
}

TEST_CASE("quoted scalars are strings", "[api]") {
    for (const char* text : {"", "1", "true", "null", "~", "yes", "0x1F", "1.5", ".inf", "2026-01-15"}) {
        CHECK(value_of("'" + std::string(text) + "'") == Json(text));
        CHECK(value_of("\"" + std::string(text) + "\"") == Json(text));
        CHECK(value_of("!!str " + std::string(text)) == Json(text));
    }
    CHECK(value_of("|-\n  1") == Json("1"));
    CHECK(value_of("'it''s'") == Json("it's"));
    CHECK(value_of(R"("a\tb\x41\u00e9\U0001F600\\")") == Json("a\tbAé😀\\"));
}

TEST_CASE("infinity and NaN are refused: JSON has neither", "[api]") {
    for (const char* text : {".inf", "-.inf", "+.INF", ".nan", ".NaN"})
        CHECK(parse_yaml("key: " + std::string(text)).error().message ==
              "line 1, column 6: " + std::string(text) + " cannot be said in JSON");
}

TEST_CASE("a tag decides what a scalar is", "[api]") {
    CHECK(value_of("!!int '12'") == Json(12));
    CHECK(value_of("!!float 12") == Json(12));
    CHECK(value_of("!!bool 'yes'") == Json(true));
    CHECK(value_of("!!null ''").is_null());
    CHECK(value_of("!!str 12") == Json("12"));
    CHECK(value_of("!!timestamp 2026-01-15") == Json("2026-01-15"));
    CHECK(value_of("! 12") == Json("12"));
    CHECK(value_of("!mine 12") == Json("12"));
    for (const char* text : {"!!int x", "!!int 1.5", "!!bool 1", "!!null 0", "!!float x", "!!binary aGk="})
        CHECK(parse_yaml("key: " + std::string(text)).has_error());
    CHECK(parse_yaml("key: !!int x").error().message == "line 1, column 6: \"x\" does not fit the tag !!int");
}
