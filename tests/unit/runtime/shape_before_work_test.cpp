// Objects of an impossible shape are refused before any other rule runs.
#include <catch2/catch.hpp>

#include "runtime/validation.hpp"

#include "fixtures.hpp"

using api::Json;

namespace {

constexpr const char* containers =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers";

Json job_with_patches(int count) {
    Json job = train_job();
    Json& patches = job["spec"]["runtimePatches"] = Json::array();
    for (int i = 0; i < count; ++i)
        patches.push_back(Json::object({{"manager", "a.io/" + std::to_string(i)}}));
    return job;
}

runtime::ValidationResult reviewed(const Json& job, const Json& before, const Json& runtime) {
    return runtime::validate_train_job({.object = job, .old_object = before, .runtime = &runtime});
}

}  // namespace

TEST_CASE(
    "of a TrainJob with too many patches that is said and nothing else, and nothing is looked up for it",
    "[admission]") {
    const Json job = job_with_patches(17);
    const Json before = changed(job, {{"spec.trainer.image", "older"}});
    for (const Json& old : {Json(), before}) {
        CHECK(runtime::lookups_for(job, old) == runtime::RequiredInputs());
        const auto findings = reviewed(job, old, plain_runtime());
        REQUIRE(findings.errors.size() == 1);
        CHECK(findings.errors[0].field == "spec.runtimePatches");
        CHECK(findings.errors[0].detail == "must have at most 16 items");
    }
    CHECK(reviewed(job_with_patches(16), Json(), plain_runtime()).errors.empty());
}

TEST_CASE("an update to fewer patches is looked up, also if the old object had too many", "[admission]") {
    CHECK(runtime::lookups_for(job_with_patches(16), job_with_patches(17)) ==
          runtime::RequiredInputs{.runtime = true, .job_set = true});
}

TEST_CASE("a runtime has as many targets of torch's environment as the schema admits", "[admission]") {
    const char* targets = "spec.mlPolicy.torch.envInjection.targets";
    const auto with = [&](int count, int names) {
        Json runtime = changed(runtime_with("torch"), {{targets, "[]"}});
        Json list = Json::array();
        for (int i = 0; i < names; ++i) list.push_back("node");
        for (int i = 0; i < count; ++i)
            at(runtime, targets).push_back(Json::object({{"jobName", "node"}, {"containerNames", list}}));
        return runtime;
    };
    CHECK(runtime::validate_runtime(with(16, 8), Json()).errors.empty());
    CHECK(build_job_set(train_job(), with(16, 8)).has_value());
    for (const auto& [runtime, field] :
         {std::pair(with(17, 1), std::string(targets)),
          std::pair(with(1, 9), std::string(targets) + "[0].containerNames")}) {
        const auto findings = runtime::validate_runtime(runtime, Json());
        REQUIRE(findings.errors.size() == 1);
        CHECK(findings.errors[0].field == field);
        CHECK(reviewed(train_job(), Json(), runtime).errors.size() == 1);
        CHECK(build_job_set(train_job(), runtime).error().field == field);
    }
}

TEST_CASE("two jobs of one name are refused: a TrainJob's setting would apply to both", "[admission]") {
    Json runtime = plain_runtime();
    Json& jobs = at(runtime, "spec.template.spec.replicatedJobs");
    const Json first = std::as_const(jobs)[0];
    jobs.push_back(first);
    jobs.items()[1]["template"].erase("metadata");
    CHECK(describe(build_job_set(train_job(), runtime).error()) ==
          "spec.template.spec.replicatedJobs[1].name: each replicated job needs a name of its own");
    CHECK(describe(runtime::validate_runtime(runtime, Json()).errors) ==
          "spec.template.spec.replicatedJobs[1].name: Duplicate value: \"node\": each replicated job needs a "
          "name "
          "of its own");
    CHECK(runtime::validate_runtime(runtime, runtime).errors.empty());
}

TEST_CASE("a gang of more kinds of resources than any node has is refused with the field", "[gang]") {
    const auto with = [](int count, int more) {
        Json runtime = plain_runtime();
        runtime["spec"]["podGroupPolicy"]["volcano"] = Json::object();
        for (int container = 0; container < 2; ++container) {
            Json& list = at(runtime, containers);
            if (container > 0) list.push_back(Json::object({{"name", "other"}, {"image", "i"}}));
            for (int i = 0; i < (container == 0 ? count : more); ++i)
                list.items()[static_cast<std::size_t>(container)]["resources"]["limits"]
                            ["x.io/" + std::to_string(container) + std::to_string(i)] = 1;
        }
        return build_job_set(train_job(), runtime);
    };
    CHECK(with(128, 0).has_value());
    CHECK(with(64, 64).has_value());
    CHECK(describe(with(129, 0).error()) ==
          std::string(containers) +
              "[0].resources.limits: the Pods of a gang ask for 128 kinds of resources at most");
    CHECK(describe(with(64, 65).error()) ==
          std::string(containers) +
              "[1].resources: the Pods of a gang ask for 128 kinds of resources at most");
}

TEST_CASE("a runtime with more errors than are identified can stay as it is, but not be made",
          "[admission]") {
    Json runtime = plain_runtime();
    for (int i = 0; i < 300; ++i)
        at(runtime, "spec.template.spec.replicatedJobs")
            .push_back(tree("{name: No.DNS.label, template: {}}"));
    const auto made = runtime::validate_runtime(runtime, Json());
    CHECK(made.errors.size() == 100);
    CHECK(made.errors.more() == 200);
    CHECK(runtime::validate_runtime(runtime, runtime).errors.empty());
}
