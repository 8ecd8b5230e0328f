#include "progress/wire.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using api::Json;
using namespace progress;

namespace {

Json body_of(const net::HttpResponse& response) {
    CHECK(net::header(response.headers, "Content-Type") == "application/json");
    return api::parse_json(response.body).value();
}

Json status(int code, const char* reason, const char* message) {
    return Json::object({{"metadata", Json::object()},
                         {"status", "Failure"},
                         {"message", message},
                         {"reason", reason},
                         {"code", code}});
}

}  // namespace

TEST_CASE("the TrainJob is read from the path", "[wire]") {
    const std::string path = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team-a/trainjobs/my.job/status";
    const api::ObjectKey wanted = {.ns = "team-a", .name = "my.job"};
    CHECK(train_job_of(path) == wanted);
    CHECK(train_job_of(path + "?force=true/x") == wanted);
    for (const std::string& other :
         {path + "/", path + "/x", "/" + path, "x" + path, path.substr(0, path.size() - 1),
          std::string("/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/job"),
          std::string("/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs//status"),
          std::string("/apis/trainer.kubeflow.org/v1alpha1/namespaces//trainjobs/job/status"),
          std::string("/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/jobsets/job/status"),
          std::string("/apis/trainer.kubeflow.org/v1/namespaces/ns/trainjobs/job/status"),
          std::string("/apis/trainer.kubeflow.org/v1alpha1/trainjobs/job/status"), std::string("/"),
          std::string()}) {
        INFO(other);
        CHECK(train_job_of(other) == std::nullopt);
    }
}

TEST_CASE("refusals are those of Kubeflow Trainer's server", "[wire]") {
    const std::tuple<Outcome, int, const char*, const char*> rows[] = {
        {Outcome::not_found, 404, "NotFound", "Not found"},
        {Outcome::forbidden, 403, "Forbidden", "Forbidden"},
        {Outcome::unreadable, 422, "Invalid", "Invalid payload"},
        {Outcome::no_train_job, 404, "NotFound", "Train job not found"},
        {Outcome::failed, 500, "InternalError", "Internal error"},
        {Outcome::limited, 429, "TooManyRequests", "Too many requests, try again"}};
    for (const auto& [outcome, code, reason, message] : rows) {
        INFO(message);
        const auto response = refusal(outcome);
        // A replica that cannot store reports must not keep a Pod for itself.
        CHECK(response.close == (outcome == Outcome::failed));
        CHECK(response.status == code);
        CHECK(body_of(response) == status(code, reason, message));
    }
    CHECK(body_of(http_refusal(413, "the body is too large")) ==
          status(413, "RequestEntityTooLarge", "Payload too large"));
    CHECK(body_of(http_refusal(500, "internal error")) ==
          status(500, "InternalError", "Internal Server Error"));
    CHECK(body_of(http_refusal(411, "send a length")) == status(411, "BadRequest", "send a length"));
}

TEST_CASE("the answer to an invalid report has all errors", "[wire]") {
    CHECK(body_of(invalid_report("job", {"a: b"})) ==
          status(422, "Invalid", R"(TrainJob.trainer.kubeflow.org "job" is invalid: a: b)"));
    CHECK(body_of(invalid_report("job", {"a: b", "c: d"})) ==
          status(422, "Invalid", R"(TrainJob.trainer.kubeflow.org "job" is invalid: [a: b, c: d])"));
}

TEST_CASE("an accepted report is returned as it was read", "[wire]") {
    const auto read = decode_report(R"({"trainerStatus": {"progressPercentage": 5, "x": 1,
                                       "lastUpdatedTime": "2026-08-21T12:11:12.5+02:00"}, "y": 2})");
    const auto response = acceptance(*read);
    CHECK(response.status == 200);
    CHECK(response.body ==
          R"({"trainerStatus":{"lastUpdatedTime":"2026-08-21T10:11:12Z","progressPercentage":5}})");
    CHECK(acceptance(std::nullopt).body == "{}");
}

TEST_CASE("answers that only a Pod of the TrainJob gets are recognized", "[wire]") {
    CHECK(is_to_pod(acceptance(Report())));
    CHECK(is_to_pod(acceptance(std::nullopt)));
    CHECK(is_to_pod(invalid_report("job", {"wrong"})));
    CHECK(is_to_pod(refusal(Outcome::unreadable)));
    for (const Outcome outcome : {Outcome::not_found, Outcome::forbidden, Outcome::failed, Outcome::limited})
        CHECK_FALSE(is_to_pod(refusal(outcome)));
    for (const int status : {400, 408, 411, 413, 431, 500, 503})
        CHECK_FALSE(is_to_pod(http_refusal(status, "")));
}
