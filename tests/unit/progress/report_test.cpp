#include "progress/report.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using api::Json;
using progress::decode_report;
using progress::Report;

namespace {

Report decoded(const std::string& trainer_status) {
    const auto read = decode_report(R"({"trainerStatus": )" + trainer_status + "}");
    INFO(trainer_status);
    REQUIRE(read);
    REQUIRE(*read);
    return **read;
}

bool is_refused(const std::string& body) { return decode_report(body).has_error(); }

api::Time at(const char* text) { return api::parse_time(text).value(); }

}  // namespace

TEST_CASE("all fields of a report are read", "[report]") {
    const Report report = decoded(R"({
        "progressPercentage": 42, "estimatedRemainingSeconds": 3600,
        "metrics": [{"name": "loss", "value": "1.93"}, {"name": "loss", "value": ""}],
        "lastUpdatedTime": "2026-08-21T12:11:12.75+02:00"})");
    CHECK(report.percentage == 42);
    CHECK(report.remaining_seconds == 3600);
    REQUIRE(report.metrics.size() == 2);
    CHECK(report.metrics[0] == progress::Metric{"loss", "1.93"});
    CHECK(report.metrics[1] == progress::Metric{"loss", ""});
    CHECK(report.updated == at("2026-08-21T10:11:12Z"));
    CHECK(progress::to_json_tree(report) == *api::parse_json(R"({
        "progressPercentage": 42, "estimatedRemainingSeconds": 3600,
        "metrics": [{"name": "loss", "value": "1.93"}, {"name": "loss", "value": ""}],
        "lastUpdatedTime": "2026-08-21T10:11:12Z"})"));
    CHECK(progress::read_report(progress::to_json_tree(report)) == report);
}

TEST_CASE("a body without trainerStatus is an empty report", "[report]") {
    for (const char* body :
         {"{}", "null", " \t\r\n{}", R"({"trainerStatus": null})", R"({"other": {"a": [1]}})",
          R"({"trainerStatus": {"progressPercentage": 1}, "trainerStatus": null})"}) {
        INFO(body);
        const auto read = decode_report(body);
        REQUIRE(read);
        CHECK(!*read);
    }
}

TEST_CASE("bytes after the first value are ignored", "[report]") {
    for (const char* body : {"{}{", "{}x", "null}", "nullx", "{} {\"trainerStatus\": 1}"}) {
        INFO(body);
        CHECK(!is_refused(body));
    }
}

TEST_CASE("a body that is no JSON object is refused", "[report]") {
    for (const char* body : {"",
                             " ",
                             "{",
                             "}",
                             "[]",
                             "1",
                             "\"a\"",
                             "true",
                             "nul",
                             "{\"a\"}",
                             "{\"a\":}",
                             "{\"a\": 1,}",
                             "{a: 1}",
                             "{\"a\": 01}",
                             "{\"a\": 1.}",
                             "{\"a\": .5}",
                             "{\"a\": -}",
                             "{\"a\": 1e}",
                             "{\"a\": +1}",
                             "{\"a\": \"\n\"}",
                             "{\"a\": \"\\x\"}",
                             "{\"a\": \"\\u12\"}",
                             "{\"a\": \"b}",
                             "{\"a\": [1 2]}",
                             "{\"a\": [1,]}",
                             "{\"a\": tru}",
                             "{\"a\": nil}",
                             "\xEF\xBB\xBF{}"}) {
        INFO(body);
        CHECK(is_refused(body));
    }
    CHECK(is_refused(std::string("{\0}", 3)));
}

TEST_CASE("members of another type are refused", "[report]") {
    for (const char* status : {"1",
                               "[]",
                               "\"\"",
                               "true",
                               R"({"progressPercentage": "5"})",
                               R"({"progressPercentage": 5.0})",
                               R"({"progressPercentage": 5e0})",
                               R"({"progressPercentage": 2147483648})",
                               R"({"progressPercentage": -2147483649})",
                               R"({"progressPercentage": 99999999999999999999})",
                               R"({"progressPercentage": true})",
                               R"({"progressPercentage": []})",
                               R"({"estimatedRemainingSeconds": 1.5})",
                               R"({"metrics": {}})",
                               R"({"metrics": "a"})",
                               R"({"metrics": [1]})",
                               R"({"metrics": [[]]})",
                               R"({"metrics": [{"name": 1}]})",
                               R"({"metrics": [{"value": 1.93}]})",
                               R"({"metrics": [{"value": true}]})",
                               R"({"lastUpdatedTime": 1})",
                               R"({"lastUpdatedTime": ""})",
                               R"({"lastUpdatedTime": {}})"}) {
        INFO(status);
        CHECK(is_refused(R"({"trainerStatus": )" + std::string(status) + "}"));
    }
}

TEST_CASE("null counts as absent", "[report]") {
    CHECK(decoded(R"({"progressPercentage": null, "estimatedRemainingSeconds": null, "metrics": null,
                      "lastUpdatedTime": null})") == Report());
    CHECK(decoded(R"({"metrics": [null, {"name": null}]})").metrics == std::vector<progress::Metric>(2));
    CHECK(decoded(R"({"progressPercentage": -0})").percentage == 0);
    CHECK(decoded(R"({"progressPercentage": -2147483648})").percentage == -2147483648LL);
}

TEST_CASE("names are read in any case, and of several values the last one counts", "[report]") {
    CHECK(decoded(R"({"PROGRESSpercentage": 7})").percentage == 7);
    CHECK(decoded("{\"progre\xC5\xBF\xC5\xBFPercentage\": 7}").percentage == 7);
    CHECK(decoded("{\"progre\\u017f\\u017FPercentage\": 7}").percentage == 7);
    CHECK(decoded(R"({"progressPercentage": 1, "ProgressPercentage": 2})").percentage == 2);
    CHECK(decoded(R"({"progressPercentage": 1, "progressPercentage": null})").percentage == std::nullopt);
    CHECK(decoded(R"({"progress_percentage": 1, "progressPercentag": 2, "progressPercentagee": 3})") ==
          Report());
    CHECK(decoded(R"({"metrics": [{"name": "a"}, {"name": "b"}], "Metrics": [{"value": "c"}]})").metrics ==
          std::vector<progress::Metric>{{"", "c"}});
    const auto both = decode_report(
        R"({"trainerStatus": {"progressPercentage": 1}, "TrainerStatus": {"estimatedRemainingSeconds": 2}})");
    REQUIRE(both);
    CHECK((*both)->percentage == 1);
    CHECK((*both)->remaining_seconds == 2);
}

TEST_CASE("texts are decoded as Go decodes them", "[report]") {
    const std::pair<std::string, std::string> texts[] = {
        {R"(\"\\\/\b\f\n\r\t)", "\"\\/\b\f\n\r\t"},
        {R"(\u0041\u00e9\u20AC)", "A\xC3\xA9\xE2\x82\xAC"},
        {R"(\ud83d\ude00)", "\xF0\x9F\x98\x80"},
        {R"(\ud83d)", "\xEF\xBF\xBD"},
        {R"(\ude00\ud83d)", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {R"(\ud83dA)", "\xEF\xBF\xBD\x41"},
        {R"(\ud83d\u0041)", "\xEF\xBF\xBD\x41"},
        {"\x7F", "\x7F"},
        {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
        {"a\xFF\xC3", "a\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD"},
    };
    for (const auto& [written, read] : texts) {
        INFO(written);
        CHECK(decoded(R"({"metrics": [{"name": ")" + written + R"("}]})").metrics[0].name == read);
    }
}

TEST_CASE("times are read as Go reads RFC 3339", "[report]") {
    const std::pair<const char*, const char*> times[] = {
        {"2026-08-21T10:11:12Z", "2026-08-21T10:11:12Z"},
        {"2026-08-21T10:11:12.999999999Z", "2026-08-21T10:11:12Z"},
        {"2026-08-21T10:11:12,5Z", "2026-08-21T10:11:12Z"},
        {"2026-08-21T10:11:12-05:30", "2026-08-21T15:41:12Z"},
        {"2026-08-21T00:11:12+24:00", "2026-08-20T00:11:12Z"},
        {"2026-08-21T1:11:12Z", "2026-08-21T01:11:12Z"},
        {"2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"},
    };
    for (const auto& [written, read] : times) {
        INFO(written);
        CHECK(decoded(R"({"lastUpdatedTime": ")" + std::string(written) + "\"}").updated == at(read));
    }
    for (const char* written : {"2026-08-21",
                                "2026-08-21T10:11:12",
                                "2026-08-21t10:11:12Z",
                                "2026-08-21T10:11:12z",
                                "2026-08-21 10:11:12Z",
                                "2026-08-21T10:11Z",
                                "2026-08-21T24:00:00Z",
                                "2026-08-21T10:60:00Z",
                                "2026-08-21T10:11:60Z",
                                "2026-02-29T00:00:00Z",
                                "2026-13-01T00:00:00Z",
                                "2026-08-00T00:00:00Z",
                                "26-08-21T10:11:12Z",
                                "2026-08-21T10:11:12+2:00",
                                "2026-08-21T10:11:12+0200",
                                "2026-08-21T10:11:12+25:00",
                                "2026-08-21T10:11:12Zx",
                                "2026-08-21T10:11:12.Z",
                                "+026-08-21T10:11:12Z",
                                "9999-12-31T23:00:00-02:00"}) {
        INFO(written);
        CHECK(is_refused(R"({"trainerStatus": {"lastUpdatedTime": ")" + std::string(written) + "\"}}"));
    }
    // Go's zero time is written as null.
    CHECK(decoded(R"({"lastUpdatedTime": "0001-01-01T00:00:00Z"})").updated == std::nullopt);
}

TEST_CASE("a body nested too deeply is refused", "[report]") {
    const auto nested = [](std::size_t depth) {
        return R"({"a": )" + std::string(depth, '[') + std::string(depth, ']') + "}";
    };
    CHECK(!is_refused(nested(api::max_json_depth - 1)));
    CHECK(is_refused(nested(api::max_json_depth)));
    CHECK(is_refused(R"({"a": )" + std::string(60'000, '[')));
}

TEST_CASE("progress is the percentage and the metrics with their order", "[report]") {
    const Report base = decoded(R"({"progressPercentage": 1, "metrics": [{"name": "a", "value": "b"}]})");
    const auto hash = progress::progress_hash(base);
    CHECK(progress::progress_hash(decoded(
              R"({"progressPercentage": 1, "metrics": [{"name": "a", "value": "b"}],
                  "estimatedRemainingSeconds": 5, "lastUpdatedTime": "2026-08-21T10:11:12Z"})")) == hash);
    for (
        const char* other :
        {"{}", R"({"progressPercentage": 1})", R"({"metrics": [{"name": "a", "value": "b"}]})",
         R"({"progressPercentage": 2, "metrics": [{"name": "a", "value": "b"}]})",
         R"({"progressPercentage": 1, "metrics": [{"name": "ab", "value": ""}]})",
         R"({"progressPercentage": 1, "metrics": [{"name": "a", "value": "b"}, {"name": "", "value": ""}]})"}) {
        INFO(other);
        CHECK(progress::progress_hash(decoded(other)) != hash);
    }
    const Report one = decoded(R"({"metrics": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]})");
    const Report two = decoded(R"({"metrics": [{"name": "b", "value": "2"}, {"name": "a", "value": "1"}]})");
    CHECK(progress::progress_hash(one) != progress::progress_hash(two));
}
