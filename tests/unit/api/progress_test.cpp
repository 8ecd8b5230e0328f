#include "api/progress.hpp"

#include <catch2/catch.hpp>

#include "api/train_job.hpp"
#include "support/printers.hpp"

using api::Json;
using api::ProgressAction;
using api::ProgressAnnotations;

TEST_CASE("progress deadlines are numbers of seconds and what becomes of the TrainJob") {
    struct Case {
        ProgressAnnotations annotations;
        std::optional<api::ProgressDeadlines> want;
        std::string error = {};
    };
    const std::string seconds = "metadata.annotations[trainer.kubeflow.org/progress-deadline-seconds]: ";
    const std::string start = "metadata.annotations[trainer.kubeflow.org/start-deadline-seconds]: ";
    const std::string action = "metadata.annotations[trainer.kubeflow.org/progress-deadline-action]: ";
    const auto invalid = [](const std::string& field, const char* value, const char* rule) {
        return field + "Invalid value: \"" + value + "\": " + rule;
    };
    constexpr const char* bounds = "must be a number of seconds from 60 to 2147483647";
    const auto range = [&](const char* value) { return invalid(seconds, value, bounds); };
    const auto actions = [&](const char* value) {
        return invalid(action, value, "must be Warn, Fail or Restart");
    };
    const std::string alone = invalid(action, "Fail",
                                      "has no effect without trainer.kubeflow.org/progress-deadline-seconds "
                                      "or trainer.kubeflow.org/start-deadline-seconds");
    const Case cases[] = {
        {{}, {}},
        {{"60", {}}, {{60, {}, ProgressAction::warn}}},
        {{"2147483647", "Fail"}, {{2147483647, {}, ProgressAction::fail}}},
        {{"1800", "Warn"}, {{1800, {}, ProgressAction::warn}}},
        {{"1800", "Restart"}, {{1800, {}, ProgressAction::restart}}},
        {{{}, {}, "60"}, {{{}, 60, ProgressAction::warn}}},
        {{{}, "Restart", "2147483647"}, {{{}, 2147483647, ProgressAction::restart}}},
        {{"90", "Fail", "600"}, {{90, 600, ProgressAction::fail}}},
        {{{}, {}, "59"}, {}, invalid(start, "59", bounds)},
        {{{}, {}, "2147483648"}, {}, invalid(start, "2147483648", bounds)},
        {{"60", {}, "10m"}, {}, invalid(start, "10m", bounds)},
        {{"59", {}, "60"}, {}, range("59")},
        {{"59", {}}, {}, range("59")},
        {{"2147483648", {}}, {}, range("2147483648")},
        {{"99999999999999999999", {}}, {}, range("99999999999999999999")},
        {{"-60", {}}, {}, range("-60")},
        {{"+60", {}}, {}, range("+60")},
        {{"60.0", {}}, {}, range("60.0")},
        {{" 60", {}}, {}, range(" 60")},
        {{"30m", {}}, {}, range("30m")},
        {{"", {}}, {}, range("")},
        {{"60", "fail"}, {}, actions("fail")},
        {{"60", ""}, {}, actions("")},
        {{{}, "Fail"}, {}, alone},
    };
    for (const Case& c : cases) {
        CAPTURE(c.annotations.seconds, c.annotations.action, c.annotations.start_seconds);
        CHECK(api::parse_progress_deadlines(c.annotations) == c.want);
        CHECK(api::describe(api::progress_deadline_errors(c.annotations)) == c.error);
    }
}

TEST_CASE("each annotation has its own error") {
    CHECK(api::progress_deadline_errors({"x", "y"}).size() == 2);
    CHECK(api::progress_deadline_errors({{}, "y"}).size() == 2);
    CHECK(api::progress_deadline_errors({"x", "y", "z"}).size() == 3);
}

TEST_CASE("what a TrainJob reports is read from its status, and its deadline from annotations") {
    const api::TrainJob job = api::parse_train_job(api::parse_json(R"({
        "metadata":{"annotations":{"trainer.kubeflow.org/progress-deadline-seconds":"60","other":"x",
            "trainer.kubeflow.org/start-deadline-seconds":"600"}},
        "status":{"trainerStatus":{"progressPercentage":42,"estimatedRemainingSeconds":90,
            "metrics":[{"name":"loss","value":"1.9"},{"name":"step","value":"8"},{"name":"lr","value":"0"},
                       {"name":"four","value":"4"}],
            "lastUpdatedTime":"2026-01-15T10:00:01.5Z","lastProgressTime":"2026-01-15T10:00:00Z"}}})")
                                                       .value());
    CHECK(job.progress_annotations == ProgressAnnotations{"60", {}, "600"});
    const api::Time time = api::parse_time("2026-01-15T10:00:00Z").value();
    CHECK(job.trainer_status == api::TrainerStatus{.last_progress = time,
                                                   .last_updated = time + std::chrono::seconds(1),
                                                   .percentage = 42,
                                                   .remaining_seconds = 90,
                                                   .metrics = {{"loss", "1.9"}, {"step", "8"}, {"lr", "0"}}});
}

TEST_CASE("a trainerStatus of any shape is read") {
    for (const char* text : {"null", "[]", "7", R"({"progressPercentage":"x","metrics":7,"lastProgressTime":1,
        "estimatedRemainingSeconds":-1,"lastUpdatedTime":"yesterday"})"})
        CHECK(api::parse_trainer_status(api::parse_json(text).value()) == api::TrainerStatus());
}
