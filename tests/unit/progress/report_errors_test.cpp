// The server reports the schema's errors of a report before it writes.
#include <algorithm>
#include <catch2/catch.hpp>

#include "crd/crd.hpp"
#include "progress/report.hpp"
#include "support/printers.hpp"

using api::Json;
using progress::Metric;
using progress::Report;
using progress::report_errors;

namespace {

constexpr api::Time noon = api::Time(std::chrono::hours(500'000));

// Sorted by text: the API server has no fixed order.
std::vector<std::string> errors_of_schema(const Report& report) {
    Json status = to_json_tree(report);
    // The tree is that of a valid report: the schema checks metrics without a name.
    const Json job =
        Json::object({{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                      {"kind", "TrainJob"},
                      {"metadata", Json::object({{"name", "job"}, {"namespace", "ns"}})},
                      {"spec", Json::object({{"runtimeRef", Json::object({{"name", "plain"}})}})},
                      {"status", Json::object({{"trainerStatus", std::move(status)}})}});
    const crd::StructuralSchema& schema = *crd::find("TrainJob");
    Json stored = job;
    schema.prune_and_default(stored);
    std::vector<std::string> errors;
    bool blocked = false;
    for (const api::StatusCause& error : schema.validate(stored)) {
        errors.push_back(error.place + ": " + error.message);
        blocked = blocked || crd::blocks_rules(error);
    }
    if (blocked)
        errors.emplace_back(
            "<nil>: Invalid value: null: some validation rules were not checked because the object was "
            "invalid; correct the existing errors to complete validation");
    std::ranges::sort(errors);
    return errors;
}

std::vector<std::string> errors_of(const Report& report) {
    auto errors = report_errors(report);
    std::ranges::sort(errors);
    return errors;
}

Metric metric(std::string name, std::string value = "1") { return {std::move(name), std::move(value)}; }

}  // namespace

TEST_CASE("bounds and texts are those of the schema", "[report]") {
    const std::string longest(64, 'x');
    std::string accents;
    for (int i = 0; i < 64; ++i) accents += "\xC3\xA9";
    const std::pair<const char*, Report> rows[] = {
        {"nothing but the time", {.updated = noon}},
        {"all of it",
         {.percentage = 100, .remaining_seconds = 0, .metrics = {metric("loss")}, .updated = noon}},
        {"no time", {.percentage = 1}},
        {"nothing", {}},
        {"percentage too large", {.percentage = 101, .updated = noon}},
        {"percentage below 0", {.percentage = -1, .updated = noon}},
        {"percentage far too large", {.percentage = 2147483647, .updated = noon}},
        {"seconds below 0", {.remaining_seconds = -5, .updated = noon}},
        {"seconds as many as there are", {.remaining_seconds = 2147483647, .updated = noon}},
        {"several, and no time", {.percentage = 150, .remaining_seconds = -2147483647}},
        {"no name", {.metrics = {metric("")}, .updated = noon}},
        {"no value", {.metrics = {metric("a", "")}, .updated = noon}},
        {"neither, in the second", {.metrics = {metric("a"), metric("", "")}, .updated = noon}},
        {"longest name and value", {.metrics = {metric(longest, longest)}, .updated = noon}},
        {"64 characters of two bytes", {.metrics = {metric(accents)}, .updated = noon}},
        {"name too long", {.metrics = {metric(longest + "x")}, .updated = noon}},
        {"value too long, and no time", {.metrics = {metric("a", accents + "x")}}},
        {"256 metrics", {.metrics = std::vector<Metric>(256, metric("a")), .updated = noon}},
        {"257 metrics", {.metrics = std::vector<Metric>(257, metric("a")), .updated = noon}},
    };
    for (const auto& [what, report] : rows) {
        INFO(what);
        CHECK(errors_of(report) == errors_of_schema(report));
    }
}

TEST_CASE("errors are written with their paths", "[report]") {
    CHECK(report_errors({.percentage = 150, .updated = noon}) ==
          std::vector<std::string>{
              "status.trainerStatus.progressPercentage: Invalid value: 150: "
              "status.trainerStatus.progressPercentage in body should be less than or equal "
              "to 100"});
    CHECK(report_errors({.metrics = {metric("")}}) ==
          std::vector<std::string>{"status.trainerStatus.metrics[0].name: Invalid value: \"\": "
                                   "status.trainerStatus.metrics[0].name in "
                                   "body should be at least 1 chars long",
                                   "status.trainerStatus: Invalid value: lastUpdatedTime is required"});
    CHECK(report_errors({.updated = noon}).empty());
}

TEST_CASE("a report has a limited number of errors", "[report]") {
    const Report report = {.metrics = std::vector<Metric>(20'000)};
    CHECK(report_errors(report).size() == progress::max_errors);
}
