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
         {"{}", "null", " \t\r\n{}", R"({"trainerStatus": null})", R"({"other": {"a": [1]}})"}) {
        INFO(body);
        const auto read = decode_report(body);
        REQUIRE(read);
        CHECK(!*read);
    }
}

TEST_CASE("a body that is no JSON object is refused", "[report]") {
    for (const char* body :
         {"", "{", "[]", "1", "\"a\"", "true", "{a: 1}", "{\"a\": 1,}", "{} {}", "{\"a\": \"\xFF\"}"}) {
        INFO(body);
        CHECK(is_refused(body));
    }
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
                               R"({"metrics": [null]})",
                               R"({"metrics": [{"name": 1}]})",
                               R"({"metrics": [{"value": 1.93}]})",
                               R"({"metrics": [{"value": true}]})",
                               R"({"lastUpdatedTime": 1})",
                               R"({"lastUpdatedTime": ""})",
                               R"({"lastUpdatedTime": "2026-08-21"})",
                               R"({"lastUpdatedTime": "2026-08-21T10:11:12"})",
                               R"({"lastUpdatedTime": {}})"}) {
        INFO(status);
        CHECK(is_refused(R"({"trainerStatus": )" + std::string(status) + "}"));
    }
}

TEST_CASE("null counts as absent", "[report]") {
    CHECK(decoded(R"({"progressPercentage": null, "estimatedRemainingSeconds": null, "metrics": null,
                      "lastUpdatedTime": null})") == Report());
    CHECK(decoded(R"({"metrics": [{}, {"name": null}]})").metrics == std::vector<progress::Metric>(2));
    CHECK(decoded(R"({"progressPercentage": -2147483648})").percentage == -2147483648LL);
}

// As Python writes them: json.dumps() escapes what is beyond ASCII, datetime.isoformat() has microseconds and
// an offset.
TEST_CASE("a report of the SDK and of transformers is read", "[report]") {
    const Report report =
        decoded(R"({"lastUpdatedTime": "2026-08-21T10:11:12.345678+00:00", "progressPercentage": 7, )"
                R"("metrics": [{"name": "pr\u00e9", "value": "nan"}, )"
                R"({"name": "\ud83d\ude00", "value": "1e-05"}]})");
    CHECK(report.percentage == 7);
    CHECK(report.updated == at("2026-08-21T10:11:12Z"));
    CHECK(report.metrics ==
          std::vector<progress::Metric>{{"pr\xC3\xA9", "nan"}, {"\xF0\x9F\x98\x80", "1e-05"}});
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
