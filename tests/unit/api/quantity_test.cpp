#include "api/quantity.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using namespace api;

namespace {

Quantity quantity(std::string_view text) {
    const auto parsed = parse_quantity(text);
    INFO(text);
    REQUIRE(parsed);
    return *parsed;
}

std::int64_t whole(std::string_view text) { return quantity(text).round_up(); }
// The value in nanos, the finest unit; for quantities below ten.
std::int64_t nanos(std::string_view text) { return (1'000'000'000 * quantity(text)).round_up(); }

}  // namespace

TEST_CASE("every suffix of a quantity has its factor", "[api]") {
    const std::pair<const char*, std::int64_t> cases[] = {
        {"3", 3},
        {"3k", 3'000},
        {"3M", 3'000'000},
        {"3G", 3'000'000'000},
        {"3T", 3'000'000'000'000},
        {"3P", 3'000'000'000'000'000},
        {"3E", 3'000'000'000'000'000'000},
        {"3Ki", 3LL << 10},
        {"3Mi", 3LL << 20},
        {"3Gi", 3LL << 30},
        {"3Ti", 3LL << 40},
        {"3Pi", 3LL << 50},
        {"3Ei", 3LL << 60},
        {"3e3", 3'000},
        {"3E3", 3'000},
        {"3e+3", 3'000},
        {"3000e-3", 3},
        {"1.5Gi", 1'610'612'736},
        {"0.5Ki", 512},
    };
    for (const auto& [text, want] : cases) {
        INFO(text);
        CHECK(whole(text) == want);
        CHECK(whole(std::string("-").append(text)) == -want);
    }
    CHECK(nanos("3m") == 3'000'000);
    CHECK(nanos("3u") == 3'000);
    CHECK(nanos("3n") == 3);
}

TEST_CASE("unusual spellings of a quantity are read", "[api]") {
    CHECK(quantity(".5") == quantity("500m"));
    CHECK(quantity("5.") == quantity("5"));
    CHECK(quantity("+1") == quantity("1000m"));
    CHECK(quantity("007.50") == quantity("7.5"));
    CHECK(quantity("-0") == quantity("0"));
    CHECK(quantity("1." + std::string(500, '0')) == quantity("1"));
    CHECK(quantity(std::string("1").append(500, '0') + "e-500") == quantity("1"));
    CHECK(quantity("0." + std::string(499, '0') + "1e500") == quantity("1"));
}

TEST_CASE("a value finer than a nano is rounded up", "[api]") {
    CHECK(nanos("0.1n") == 1);
    CHECK(nanos("1.0000000001") == 1'000'000'001);
    CHECK(nanos("1e-1000") == 1);
    CHECK(nanos("0.0000000001Ki") == 103);
    CHECK(nanos("-0.1n") == -1);
    CHECK(nanos("0.000000001") == 1);
    CHECK_FALSE(quantity("1e-2147483649").is_zero());
    CHECK(quantity("0e-2147483649").is_zero());
}

TEST_CASE("whole numbers are rounded away from zero", "[api]") {
    CHECK(whole("1500m") == 2);
    CHECK(whole("1n") == 1);
    CHECK(whole("-1500m") == -2);
    CHECK(whole("0") == 0);
}

TEST_CASE("quantities are kept within bounds", "[api]") {
    constexpr auto largest = std::numeric_limits<std::int64_t>::max();
    CHECK(whole("9223372036854775807") == largest);
    CHECK(whole("9223372036854775808") == largest);
    CHECK(whole("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
    CHECK(whole("-1e30") == std::numeric_limits<std::int64_t>::min());
    CHECK(whole(std::string(1000, '9') + "E") == largest);
    CHECK(whole("1e9223372036854775807") == largest);
    CHECK(whole("0e9223372036854775807") == 0);
    CHECK(quantity("8Ei") == quantity("9223372036854775807"));
    CHECK(quantity("9E") > quantity("7Ei"));

    Quantity sum = quantity("1e40");
    sum += sum;
    CHECK(sum == quantity("1e40"));
    CHECK(std::numeric_limits<std::int64_t>::min() * sum < quantity("0"));
    CHECK((-1 * sum).round_up() == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("quantities are summed, multiplied and compared exactly", "[api]") {
    Quantity sum = quantity("0.1");
    sum += quantity("200m");
    CHECK(sum == quantity("0.3"));
    CHECK(3 * quantity("1.5Gi") == quantity("4608Mi"));
    CHECK(quantity("1Ki") > quantity("1k"));
    CHECK(Quantity().is_zero());
}

TEST_CASE("text that is not a quantity is refused", "[api]") {
    for (const char* text : {"",      " ",     "-",    "+",     ".",
                             "Ki",    "e3",    "1 Gi", "1K",    "1ki",
                             "1mi",   "1g",    "1e",   "1e+",   "1e3.5",
                             "1.5.5", "--1",   "+-1",  "1_000", "0x10",
                             "1Gib",  "1e3Ki", "1iK",  "NaN",   "1e99999999999999999999",
                             "١"}) {
        INFO(text);
        CHECK(parse_quantity(text).has_error());
    }
    CHECK(parse_quantity("1 Gi").error().message ==
          "\"1 Gi\" is not a quantity: a number and a suffix, such as 500m, 2 or 1.5Gi");
}

TEST_CASE("a quantity is a JSON string or number", "[api]") {
    CHECK(*parse_quantity(Json("2Gi")) == quantity("2Gi"));
    CHECK(*parse_quantity(Json(2)) == quantity("2"));
    CHECK(*parse_quantity(Json(0.5)) == quantity("500m"));
    CHECK(*parse_quantity(Json(1e22)) == quantity("1e22"));
    for (const Json& value : {Json(), Json(true), Json::array(), Json::object()})
        CHECK(parse_quantity(value).has_error());
}

TEST_CASE("a quantity is written as Kubernetes does, with the kind of suffix that it came with", "[api]") {
    struct Case {
        const char* text;
        const char* want;
    };
    for (const Case& c : {Case{"0", "0"},
                          Case{"1500m", "1500m"},
                          Case{"2000m", "2"},
                          Case{"0.5", "500m"},
                          Case{"1Gi", "1Gi"},
                          Case{"1.5Gi", "1536Mi"},
                          Case{"2048Ki", "2Mi"},
                          Case{"1000Ki", "1000Ki"},
                          Case{"0.5Ki", "512"},
                          Case{"0.1Ki", "102400m"},
                          Case{"1023.5Gi", "1048064Mi"},
                          Case{"0.0005Ki", "512m"},
                          Case{"-2Gi", "-2Gi"},
                          Case{"3k", "3k"},
                          Case{"12000", "12k"},
                          Case{"34359738368", "34359738368"},
                          Case{"20u", "20u"},
                          Case{"3n", "3n"},
                          Case{"-1500m", "-1500m"},
                          Case{"1E", "1E"},
                          Case{"1e3", "1e3"},
                          Case{"15e2", "1500"},
                          Case{"1e22", "10e21"},
                          Case{"5e-4", "500e-6"}}) {
        CAPTURE(c.text);
        const auto quantity = api::parse_quantity(c.text);
        REQUIRE(quantity);
        CHECK(to_string(*quantity) == c.want);
        CHECK(api::parse_quantity(to_string(*quantity)).value() == *quantity);
    }
}

TEST_CASE("a sum has the kind of suffix of its first part that is not zero", "[api]") {
    Quantity sum;
    sum += quantity("0Gi");
    sum += quantity("4Gi");
    sum += quantity("1073741824");
    CHECK(to_string(sum) == "5Gi");
    CHECK(to_string(4 * quantity("16Gi")) == "64Gi");
    Quantity decimal = quantity("1000");
    decimal += quantity("24Ki");
    CHECK(to_string(decimal) == "25576");
}
