#include "api/run_policy.hpp"

#include <catch2/catch.hpp>

#include "api/train_job.hpp"
#include "support/printers.hpp"

using namespace api;

namespace {

RunPolicy of_runtime(std::string_view spec) {
    return run_policy_of(Json::object({{"spec", parse_json(spec).value()}}));
}

}  // namespace

TEST_CASE("a runtime's time to live is its policy's, else the one beside the template", "[api]") {
    CHECK(of_runtime(R"({"ttlSecondsAfterFinished": 5})") == RunPolicy{.ttl_seconds_after_finished = 5});
    CHECK(of_runtime(R"({"ttlSecondsAfterFinished": 5, "runPolicy": {"ttlSecondsAfterFinished": 0}})") ==
          RunPolicy{.ttl_seconds_after_finished = 0});
    CHECK(of_runtime(R"({"ttlSecondsAfterFinished": 5, "runPolicy": {"activeDeadlineSeconds": 7}})") ==
          RunPolicy{.ttl_seconds_after_finished = 5, .active_deadline_seconds = 7});
    CHECK(of_runtime(R"({"template": {}})") == RunPolicy());
}

TEST_CASE("a grace period is a part of what is built, and not of what a job's status keeps", "[api]") {
    CHECK(of_runtime(R"({"runPolicy": {"gracePeriodSeconds": 60}})") == RunPolicy());
    const Json runtime =
        Json::object({{"spec", parse_json(R"({"runPolicy": {"gracePeriodSeconds": 60}})").value()}});
    CHECK(to_json(without_run_policy(runtime)) == R"({"spec":{}})");
}

TEST_CASE("a policy of another shape, or with values below its bounds, says nothing", "[api]") {
    for (const char* policy : {"null", "[]", "3", "{}", R"({"ttlSecondsAfterFinished": -1})",
                               R"({"activeDeadlineSeconds": 0})", R"({"maxTtlSecondsAfterFinished": -1})",
                               R"({"maxActiveDeadlineSeconds": "60", "activeDeadlineSeconds": null})"}) {
        INFO(policy);
        CHECK(parse_run_policy(parse_json(policy).value()) == RunPolicy());
        CHECK(of_runtime(std::string(R"({"runPolicy": )") + policy + "}") == RunPolicy());
    }
}

TEST_CASE("a policy is written with the members that it has", "[api]") {
    const RunPolicy all = {.ttl_seconds_after_finished = 0,
                           .max_ttl_seconds_after_finished = 7,
                           .active_deadline_seconds = 1,
                           .max_active_deadline_seconds = std::int64_t{1} << 40};
    CHECK(to_json(to_json_tree(all)) ==
          R"({"activeDeadlineSeconds":1,"maxActiveDeadlineSeconds":1099511627776,)"
          R"("maxTtlSecondsAfterFinished":7,"ttlSecondsAfterFinished":0})");
    CHECK(parse_run_policy(to_json_tree(all)) == all);
    CHECK(to_json(to_json_tree(RunPolicy())) == "{}");
}

TEST_CASE("a time to live is at most the maximum, which counts where there is none", "[api]") {
    const RunPolicy none, an_hour = {.max_ttl_seconds_after_finished = 3600};
    CHECK(cut_ttl(7200, an_hour) == 3600);
    CHECK(cut_ttl(60, an_hour) == 60);
    CHECK(cut_ttl({}, an_hour) == 3600);
    CHECK(cut_ttl(7200, none) == 7200);
    CHECK(cut_ttl({}, none) == std::nullopt);
}

TEST_CASE("a TrainJob's time to live, the policy it began with and its times are read", "[api]") {
    const auto read = [](std::string_view text) { return parse_train_job(parse_json(text).value()); };
    const TrainJob job = read(R"({"spec": {"ttlSecondsAfterFinished": 60},
        "status": {"runPolicy": {}, "startTime": "2026-01-15T10:00:00Z", "completionTime": "2026-01-15T11:00:00Z"}})");
    CHECK(job.ttl_seconds_after_finished == 60);
    CHECK(job.run_policy == RunPolicy());
    CHECK(job.start_time == parse_time("2026-01-15T10:00:00Z").value());
    CHECK(job.completion_time == parse_time("2026-01-15T11:00:00Z").value());
    for (const char* text : {"{}", R"({"spec": {"ttlSecondsAfterFinished": -1}})",
                             R"({"status": {"runPolicy": null, "startTime": "", "completionTime": 3}})"}) {
        INFO(text);
        const TrainJob other = read(text);
        CHECK_FALSE(other.ttl_seconds_after_finished);
        CHECK_FALSE(other.run_policy);
        CHECK_FALSE(other.start_time);
        CHECK_FALSE(other.completion_time);
    }
}
