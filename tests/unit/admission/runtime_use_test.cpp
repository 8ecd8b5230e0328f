// What the edit or the deletion of a runtime means for the TrainJobs that use it.
#include "admission/runtime_use.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "reviews.hpp"
#include "runtime/rule.hpp"
#include "support/printers.hpp"

using admission::RuntimeChange;
using admission::RuntimeUse;
using api::Json;

namespace {

Json job_with(std::string_view status, bool is_queued = false) {
    Json job = test::train_job();
    job["status"] = *api::parse_json(status);
    if (is_queued) job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "team";
    return job;
}

Json that_uses(std::string_view kind, std::string_view name) {
    Json job = test::train_job();
    job["spec"]["runtimeRef"]["kind"] = std::string(kind);
    job["spec"]["runtimeRef"]["name"] = std::string(name);
    return job;
}

RuntimeUse use_of(std::vector<Json> jobs) {
    Json items = Json::array();
    for (Json& job : jobs) items.push_back(std::move(job));
    RuntimeUse use;
    add_jobs_of_runtime(Json::object({{"items", std::move(items)}}),
                        {.kind = "ClusterTrainingRuntime", .name = "plain"}, use);
    return use;
}

std::vector<std::string> texts(const RuntimeUse& use, const RuntimeChange& change) {
    std::vector<std::string> found;
    for (const api::Warning& warning : warnings_of(use, change)) {
        CHECK(warning.rule == api::RuleId(runtime::Rule::runtime_in_use));
        CHECK(warning.text.size() <= 120);
        found.push_back(warning.text);
    }
    return found;
}

const RuntimeChange an_edit = {.is_edit = true};
const RuntimeChange a_deletion = {.is_deletion = true};

using Texts = std::vector<std::string>;

constexpr std::string_view has_begun = R"({"runtimeDigest": "sha256:0"})";
constexpr std::string_view was_created = R"({"conditions": [{"type": "Created", "status": "True"}]})";

}  // namespace

TEST_CASE("jobs that wait and jobs that have begun are told apart, and those that have ended do not count",
          "[runtime-use]") {
    const char* complete = R"({"conditions": [{"type": "Complete", "status": "True"}]})";
    const char* failed =
        R"({"runtimeDigest": "sha256:0", "conditions": [{"type": "Failed", "status": "True"}]})";
    CHECK(use_of({}) == RuntimeUse());
    CHECK(use_of({job_with("{}"), job_with(has_begun), job_with(was_created), job_with("{}", true),
                  job_with(complete), job_with(failed, true)}) ==
          RuntimeUse{.waiting = 2, .begun = 2, .queued = 1});
    CHECK(use_of({that_uses("ClusterTrainingRuntime", "other"), that_uses("TrainingRuntime", "plain")}) ==
          RuntimeUse());
}

TEST_CASE("an edit says how many jobs begin with it from now on, and how many go on as they began",
          "[runtime-use]") {
    CHECK(texts({}, an_edit).empty());
    CHECK(texts({.waiting = 1}, an_edit) ==
          Texts{"1 TrainJob has no JobSet yet and begins with it as it is now"});
    CHECK(texts({.waiting = 2, .begun = 1, .queued = 1}, an_edit) ==
          Texts{"2 TrainJobs have no JobSet yet and begin with it as it is now",
                "1 TrainJob goes on as it began",
                "1 TrainJob is in a queue: Kueue counts its Pods by what the runtime is now"});
    CHECK(texts({.begun = 900, .queued = 2, .more = true}, an_edit) ==
          Texts{"900 or more TrainJobs go on as they began",
                "2 or more TrainJobs are in queues: Kueue counts their Pods by what the runtime is now"});
}

TEST_CASE("a deletion says what breaks for the jobs that use the runtime", "[runtime-use]") {
    CHECK(texts({}, a_deletion).empty());
    CHECK(
        texts({.waiting = 1, .begun = 3, .queued = 1}, a_deletion) ==
        Texts{"1 TrainJob has no JobSet yet and cannot begin before there is such a runtime again",
              "3 TrainJobs go on as they began, but list_jobs() of Kubeflow's SDK fails in their namespaces",
              "1 TrainJob is in a queue: Kueue cannot count its Pods any more; delete it first"});
    CHECK(texts({.more = true}, a_deletion) ==
          Texts{"TrainJobs may use it: there are too many to look at all"});
}

TEST_CASE("a platform that keeps runtimes in use says what to do instead of a deletion", "[runtime-use]") {
    CHECK(admission::denial_of_deletion({}).empty());
    CHECK(admission::denial_of_deletion({.waiting = 1}) ==
          "1 TrainJob that has not ended uses it: create a runtime under a new name, and delete this one "
          "once no job uses it");
    CHECK(admission::denial_of_deletion({.waiting = 1, .begun = 2, .more = true}) ==
          "3 or more TrainJobs that have not ended use it: create a runtime under a new name, and delete "
          "this one once no job uses it");
    CHECK(admission::denial_of_deletion({.more = true}) ==
          "TrainJobs may use it, and there are too many to look at all: create a runtime under a new name, "
          "and delete this one once ended ones are deleted");
}

TEST_CASE("times to live for all say how many TrainJobs they delete at once", "[runtime-use]") {
    const auto runtime = [](const char* policy) {
        Json object = test::cluster_runtime();
        object["spec"]["runPolicy"] = *api::parse_json(policy);
        return object;
    };
    const Json before = runtime(R"({"ttlSecondsAfterFinished": 60})");
    const Json after = runtime(R"({"ttlSecondsAfterFinished": 60, "ttlAppliesTo": "All"})");
    const RuntimeChange change = admission::change_of_runtime(after, before);
    REQUIRE(change.policy_of_all);
    CHECK_FALSE(change.is_edit);
    CHECK_FALSE(admission::change_of_runtime(after, after).matters());
    CHECK_FALSE(admission::change_of_runtime(before, after).matters());
    CHECK_FALSE(admission::change_of_runtime(after, Json()).matters());
    CHECK(admission::change_of_runtime(runtime(R"({"ttlSecondsAfterFinished": 5, "ttlAppliesTo": "All"})"),
                                       after)
              .policy_of_all);

    const auto ended_at = [](const char* time) {
        Json job = job_with(R"({"conditions": [{"type": "Complete", "status": "True"}]})");
        job["status"]["conditions"].items().front()["lastTransitionTime"] = time;
        return job;
    };
    Json keeps_itself = ended_at("2026-01-15T10:00:00Z");
    keeps_itself["spec"]["ttlSecondsAfterFinished"] = 3600;
    RuntimeUse use;
    add_jobs_of_runtime(Json::object({{"items", Json::array({ended_at("2026-01-15T10:00:00Z"),
                                                             ended_at("2026-01-15T10:02:00Z"), keeps_itself,
                                                             job_with(has_begun)})}}),
                        {.kind = "ClusterTrainingRuntime",
                         .name = "plain",
                         .policy_of_all = &*change.policy_of_all,
                         .now = *api::parse_time("2026-01-15T10:02:30Z")},
                        use);
    CHECK(use == RuntimeUse{.begun = 1, .expired = 1});
    CHECK(texts(use, change) ==
          Texts{"1 TrainJob that has ended is deleted now, since runPolicy.ttlAppliesTo is All"});
}
