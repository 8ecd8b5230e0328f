#include "net/process/log.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>
#include <thread>

#include "api/json.hpp"

namespace {

struct Lines {
    std::string text = {};
    net::Log log(net::LogFormat format, net::LogLevel level = net::LogLevel::debug) {
        return net::Log(level, format, [this](std::string_view line) { text += line; });
    }
};

// Returns the line without its time stamp.
std::string behind_time(const std::string& line, net::LogFormat format) {
    return format == net::LogFormat::json ? line.substr(line.find(',') + 1) : line.substr(line.find(' ') + 1);
}

}  // namespace

TEST_CASE("a JSON line has time, level, message and fields", "[net]") {
    Lines lines;
    auto log = lines.log(net::LogFormat::json);
    log.info("started", {{"port", 9443},
                         {"tls", true},
                         {"share", 0.5},
                         {"big", std::numeric_limits<std::int64_t>::min()},
                         {"job", api::ObjectKey{"ns", "name"}},
                         {"error", api::invalid("spec.x", "is wrong")},
                         {"text", std::string("a")}});
    CHECK(behind_time(lines.text, net::LogFormat::json) ==
          R"("level":"info","msg":"started","port":9443,"tls":true,"share":0.5,"big":-9223372036854775808,)"
          R"("job":"ns/name","error":"spec.x: is wrong","text":"a"})"
          "\n");
    const auto parsed = api::parse_json(lines.text);
    REQUIRE(parsed.has_value());
    CHECK((*parsed)["time"].as_string().size() == std::string_view("2026-01-15T10:00:00.000Z").size());
}

TEST_CASE("a text line is readable", "[net]") {
    Lines lines;
    auto log = lines.log(net::LogFormat::text);
    log.warn("slow\nanswer", {{"path", "/a b"}, {"ms", 7}, {"word", "x"}, {"empty", ""}, {"trick", "a=b"}});
    CHECK(behind_time(lines.text, net::LogFormat::text) ==
          "warn  slow\\nanswer  path=\"/a b\"  ms=7  word=x  empty=\"\"  trick=\"a=b\"\n");
}

TEST_CASE("any bytes make one valid line", "[net]") {
    std::string all;
    for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
    const std::string cases[] = {
        all,
        std::string("\0", 1),
        "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x9A\x86",  // valid: unchanged
        "\xC0\xAF\xED\xA0\x80\xF5\x80\x80\x80",  // overlong, surrogate, too large
        "\xE2\x80\xA8\xE2\x80\xA9\xC2\x85\x7F\x1B[31m",
        "cut \xF0\x9F\x9A",
        "\"\\\b\f\n\r\t",
    };
    for (const auto& text : cases) {
        for (const auto format : {net::LogFormat::json, net::LogFormat::text}) {
            Lines lines;
            auto log = lines.log(format);
            log.error(text, {{text, text}});
            REQUIRE(lines.text.size() > 1);
            CHECK(lines.text.find('\n') == lines.text.size() - 1);
            for (const unsigned char c : lines.text.substr(0, lines.text.size() - 1))
                CHECK((c >= 0x20 && c != 0x7F));
            if (format == net::LogFormat::json) CHECK(api::parse_json(lines.text).has_value());
        }
    }
    Lines lines;
    lines.log(net::LogFormat::json).info(cases[2]);
    CHECK(lines.text.find(cases[2]) != std::string::npos);
}

TEST_CASE("numbers that JSON lacks are written as words", "[net]") {
    Lines lines;
    auto log = lines.log(net::LogFormat::json);
    log.info("x", {{"a", std::numeric_limits<double>::quiet_NaN()},
                   {"b", std::numeric_limits<double>::infinity()},
                   {"c", -std::numeric_limits<double>::infinity()}});
    CHECK(lines.text.find(R"("a":"NaN","b":"+Inf","c":"-Inf")") != std::string::npos);
}

TEST_CASE("lines below the level are not written", "[net]") {
    Lines lines;
    auto log = lines.log(net::LogFormat::json, net::LogLevel::warn);
    log.debug("x");
    log.info("x");
    CHECK(lines.text.empty());
    CHECK_FALSE(log.enabled(net::LogLevel::info));
    log.warn("x");
    CHECK_FALSE(lines.text.empty());
}

TEST_CASE("a log never throws", "[net]") {
    net::Log log(net::LogLevel::debug, net::LogFormat::json, [](auto) { throw std::runtime_error("full"); });
    log.error("x", {{"a", 1}});
}

TEST_CASE("several threads may log", "[net][threads]") {
    net::Log log(net::LogLevel::error);
    const auto work = [&] {
        for (int i = 0; i < 100; ++i) log.info("not shown", {{"i", i}});
    };
    std::thread first(work);
    std::thread second(work);
    first.join();
    second.join();
}
