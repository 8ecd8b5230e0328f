// The webhook, quota or other policy that keeps a TrainJob from its Pods, in `kubectl trainjob explain`.
#include "explain/policy_refusals.hpp"

#include <catch2/catch.hpp>

#include "explain/model.hpp"
#include "related_objects.hpp"

namespace cli {
namespace {

Json warning(const char* kind, const char* name, const std::string& message, const char* time) {
    return Json::object({{"type", "Warning"},
                         {"reason", "FailedCreate"},
                         {"message", message},
                         {"lastTimestamp", time},
                         {"involvedObject", Json::object({{"kind", kind}, {"name", name}})}});
}

const std::string of_quota =
    "Error creating: pods \"night-node-0-0-x\" is forbidden: exceeded quota: few, requested: pods=1, used: "
    "pods=5, limited: pods=5";

}  // namespace

TEST_CASE("the policy is read from the API server's words", "[explain]") {
    using By = PolicyRefusal::By;
    struct Row {
        std::string message;
        By by;
        const char* name;
        const char* words;
    };
    const Row rows[] = {
        {of_quota, By::quota, "few", "requested: pods=1, used: pods=5, limited: pods=5"},
        {"pods \"a\" is forbidden: failed quota: compute: must specify limits.cpu for: node", By::quota,
         "compute", "must specify limits.cpu for: node"},
        {"admission webhook \"gpus.example.com\" denied the request: exceeded quota: none, today",
         By::webhook, "gpus.example.com", "exceeded quota: none, today"},
        {"admission webhook \"a.example.com\" denied the request without explanation", By::webhook,
         "a.example.com", "without explanation"},
        {"Internal error occurred: failed calling webhook \"mjobset.kb.io\": failed to call webhook: Post "
         "\"https://jobset.svc:443/x\": dial tcp: connect: connection refused",
         By::unreachable_webhook, "mjobset.kb.io",
         "failed to call webhook: Post \"https://jobset.svc:443/x\": dial tcp: connect: connection refused"},
        {"pods \"a\" is forbidden: ValidatingAdmissionPolicy 'images.example.com' with binding 'all' denied "
         "request: "
         "only images of the team",
         By::admission_policy, "images.example.com", "only images of the team"},
        {"pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true",
         By::pod_security, "restricted:latest", "runAsNonRoot != true"},
        {"pods \"a\" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi",
         By::limit_range, "", "maximum memory usage per Container is 1Gi, but limit is 2Gi"},
        {"Error creating: Pod \"a\" is invalid: spec.containers[0].resources.requests: Invalid value: \"4\": "
         "must be less than or equal to cpu limit of 1",
         By::default_limit, "",
         "spec.containers[0].resources.requests: Invalid value: \"4\": must be less than or equal to cpu "
         "limit "
         "of 1"},
        {"pods \"a\" is forbidden: unable to validate against any security context constraint: [provider "
         "\"anyuid\": Forbidden: not usable by user or serviceaccount, provider restricted-v2: "
         ".containers[0].runAsUser: Invalid value: 65532: must be in the ranges: [1000900000, 1000909999], "
         "provider \"privileged\": Forbidden: not usable by user or serviceaccount]",
         By::security_context_constraints, "",
         "provider restricted-v2: .containers[0].runAsUser: Invalid value: 65532: must be in the ranges: "
         "[1000900000, 1000909999]"},
        {"pods \"a\" is forbidden: unable to validate against any security context constraint: [provider "
         "\"a\": Forbidden: not usable by user or serviceaccount]",
         By::security_context_constraints, "",
         "[provider \"a\": Forbidden: not usable by user or serviceaccount]"},
        {"pods \"a\" is forbidden: unable to validate against any security context constraint: "
         "[spec.containers[0].securityContext.privileged: Invalid value: true: Privileged containers are not "
         "allowed]",
         By::security_context_constraints, "",
         "spec.containers[0].securityContext.privileged: Invalid value: true: Privileged containers are not "
         "allowed"},
        {"pods \"a\" is forbidden: no PriorityClass with name high was found", By::missing_object,
         "PriorityClass high", ""},
        {"pods \"a\" is forbidden: error looking up service account vision/trainer: serviceaccount "
         "\"trainer\" not found",
         By::missing_object, "ServiceAccount trainer", ""},
        {"pods \"a\" is forbidden: pod rejected: RuntimeClass \"kata\" not found", By::missing_object,
         "RuntimeClass kata", ""},
    };
    for (const Row& row : rows) {
        INFO(row.message);
        const auto refusal = parse_policy_refusal(row.message);
        REQUIRE(refusal);
        CHECK(refusal->by == row.by);
        CHECK(refusal->name == row.name);
        CHECK(refusal->message == row.words);
    }
    for (const char* message :
         {"", "Unauthorized", "a maximum of four lines", "exceeded quota: ", "admission webhook \"no end",
          "the maximum of all usage per day", "no PriorityClass with name a b was found",
          "unable to validate against any security context constraint"})
        CHECK_FALSE(parse_policy_refusal(message));
}

TEST_CASE("a refused object and its policy have a line of their own", "[explain]") {
    RelatedObjects seen = running();
    CHECK_FALSE(has(screen(seen), "Refused"));
    CHECK_FALSE(document_of(seen).contains("refused"));

    seen.events.found = {warning("Job", "night-node-0", of_quota, "2026-01-15T11:59:00Z")};
    CHECK(
        has(screen(seen),
            "Refused   Pods of Job night-node-0, by the ResourceQuota few: requested: pods=1, used: pods=5, "
            "limited: pods=5\n"));
    CHECK(document_of(seen)["refused"] ==
          parsed(R"([{"object": "Pods of Job night-node-0", "by": "quota", "name": "few",
        "message": "requested: pods=1, used: pods=5, limited: pods=5"}])"));

    // The condition and the event of one policy are one refusal.
    seen.job["status"]["conditions"].push_back(
        condition("Stalled", "True", "PodsNotCreated", ("job node: " + of_quota).c_str()));
    CHECK(policy_refusals(seen).size() == 1);
    seen.events.found.clear();
    CHECK(has(screen(seen), "Refused   job node, by the ResourceQuota few: "));

    seen.job["status"]["conditions"] = Json::array({condition(
        "Created", "False", "JobsCreationFailed",
        "JobSet vision/night: admission webhook \"gpus.example.com\" denied the request: no GPUs at night")});
    CHECK(has(screen(seen),
              "Refused   JobSet vision/night, by the webhook gpus.example.com: no GPUs at night\n"));
    seen.job["status"]["conditions"].push_back(condition("Failed", "True", "DeadlineExceeded"));
    CHECK_FALSE(has(screen(seen), "Refused"));
}

TEST_CASE("a refusal after which Pods were created is over", "[explain]") {
    const auto made = [](const char* job, const char* time) {
        Json each = pod("p", "{}");
        each["metadata"]["creationTimestamp"] = time;
        each["metadata"]["labels"]["batch.kubernetes.io/job-name"] = job;
        return each;
    };
    RelatedObjects seen = running();
    seen.events.found = {warning("Job", "night-node-0", of_quota, "2026-01-15T11:30:00Z")};
    // The first of two Pods had room.
    seen.pods.found = {made("night-node-0", "2026-01-15T11:30:00Z")};
    CHECK(policy_refusals(seen).size() == 1);
    seen.pods.found.push_back(made("night-other-0", "2026-01-15T11:40:00Z"));
    CHECK(policy_refusals(seen).size() == 1);
    seen.pods.found.push_back(made("night-node-0", "2026-01-15T11:40:00Z"));
    CHECK(policy_refusals(seen).empty());
    seen.events.found = {warning("JobSet", "night", of_quota, "2026-01-15T11:30:00Z")};
    CHECK(policy_refusals(seen).empty());
    seen.pods.found.clear();
    REQUIRE(policy_refusals(seen).size() == 1);
    CHECK(policy_refusals(seen)[0].object == "Jobs of the JobSet");
    seen.job["spec"]["suspend"] = true;
    CHECK(policy_refusals(seen).empty());
}

}  // namespace cli
