#include "runtime/conditions.hpp"

#include "fixtures.hpp"
#include "runtime/plugin.hpp"

using api::Json;

namespace {

constexpr runtime::Policy reporter_policy = {.group = runtime::ml_policy_group, .member = "reporter"};

constexpr std::string_view reported[] = {"Made"};

// Reports whether there is a JobSet.
class Reporter final : public runtime::Plugin {
public:
    std::string_view name() const override { return "reporter"; }
    const runtime::Policy* policy() const override { return &reporter_policy; }

    std::span<const std::string_view> condition_types() const override { return reported; }
    void add_conditions(const runtime::ConditionsContext& context,
                        std::vector<api::Condition>& conditions) const override {
        conditions.push_back({.type = "Made",
                              .status = context.job_set ? "True" : "False",
                              .reason = "Made",
                              .message = context.job.meta.name});
    }
};

std::vector<api::Condition> of_gang(const Json& runtime, const char* counts) {
    const api::JobSet job_set = {.replicated_jobs = api::parse_jobs_status(tree(counts))};
    return runtime::conditions_of_plugins(api::parse_train_job(train_job()), &job_set, runtime);
}

}  // namespace

TEST_CASE("plugins add conditions where the runtime has their policy", "[conditions]") {
    runtime::Pipeline pipeline;
    pipeline.plugins.push_back(std::make_unique<Reporter>());
    const api::TrainJob job = api::parse_train_job(train_job());
    const Json runtime = tree("{spec: {mlPolicy: {reporter: {}}}}");
    const auto before = runtime::conditions_of_plugins(job, nullptr, runtime, pipeline);
    REQUIRE(before.size() == 1);
    CHECK(before[0].status == "False");
    const api::JobSet job_set;
    CHECK(runtime::conditions_of_plugins(job, &job_set, runtime, pipeline)[0].status == "True");
    CHECK(runtime::conditions_of_plugins(job, &job_set, tree("{spec: {mlPolicy: {}}}"), pipeline).empty());
    CHECK(runtime::conditions_of_plugins(job, &job_set, Json(), pipeline).empty());
}

TEST_CASE("a condition that no plugin adds any more is to be removed, unless the runtime is not known",
          "[conditions]") {
    runtime::Pipeline pipeline;
    pipeline.plugins.push_back(std::make_unique<Reporter>());
    api::TrainJob job = api::parse_train_job(train_job());
    job.conditions = {{.type = "Created", .status = "True"}, {.type = "Made", .status = "True"}};
    const api::JobSet job_set;
    const auto said = [&](const api::JobSet* seen, const Json& runtime) {
        std::string text;
        for (const auto& each : runtime::conditions_of_plugins(job, seen, runtime, pipeline))
            text += each.type + "=" + each.status + " ";
        return text;
    };
    CHECK(said(&job_set, tree("{spec: {mlPolicy: {reporter: {}}}}")) == "Made=True ");
    CHECK(said(&job_set, tree("{spec: {mlPolicy: {}}}")) == "Made= ");
    CHECK(said(&job_set, Json()).empty());
    CHECK(said(nullptr, Json()) == "Made= ");
}

TEST_CASE("a gang is ready when all Pods of its members are", "[conditions]") {
    const char* const policy = GENERATE("coscheduling", "volcano", "yunikorn", "kubernetes");
    // A dataset is loaded first. A launcher starts when the nodes are ready.
    const Json runtime = tree(std::string("{spec: {mlPolicy: {}, podGroupPolicy: {") + policy +
                              ": {}}, template: {spec: {replicatedJobs: [{name: dataset}, {name: node, "
                              "dependsOn: [{name: dataset, status: Complete}]}, {name: launcher, dependsOn: "
                              "[{name: node, status: Ready}]}]}}}}");
    const std::tuple<const char*, const char*, const char*> cases[] = {
        {"[{name: dataset, active: 1, ready: 1}]", "False", "no Pod of job node runs"},
        {"[{name: dataset, succeeded: 1}, {name: node, suspended: 1}]", "False", "no Pod of job node runs"},
        {"[{name: dataset, succeeded: 1}, {name: node, active: 2, ready: 1}]", "False",
         "not all Pods of job node are ready"},
        {"[{name: dataset, succeeded: 1}, {name: node, active: 1, ready: 1}]", "True", "all Pods"},
        {"[{name: node, active: 1, ready: 1}, {name: launcher, active: 1}]", "True", "all Pods"},
        {"[{name: node, active: 1, ready: 1, succeeded: 1}]", "True", "all Pods"},
        {"[{name: node, succeeded: 2}, {name: launcher, active: 1, ready: 1}]", "True", "all Pods"},
    };
    for (const auto& [counts, status, message] : cases) {
        INFO(policy << " " << counts);
        const auto found = of_gang(runtime, counts);
        REQUIRE(found.size() == 1);
        CHECK(found[0].type == "GangReady");
        CHECK(found[0].status == status);
        CHECK_THAT(found[0].message, Catch::StartsWith(message));
    }
}

TEST_CASE("a gang lacks no job that has finished in an earlier attempt", "[conditions]") {
    const Json runtime = tree(
        "{spec: {mlPolicy: {}, podGroupPolicy: {coscheduling: {}}, template: {spec: {replicatedJobs: "
        "[{name: dataset}, {name: node}]}}}}");
    const api::TrainJob job = api::parse_train_job(train_job());
    api::JobSet attempt;
    attempt.replicated_jobs = {{.name = "node", .ready = 1, .active = 1}};
    const auto status = [&] { return runtime::conditions_of_plugins(job, &attempt, runtime).at(0).status; };
    CHECK(status() == "False");
    attempt.finished_jobs = {"dataset"};
    CHECK(status() == "True");
}

TEST_CASE("a gang says nothing where its JobSet's counts do not", "[conditions]") {
    const Json runtime = changed(plain_runtime(), {{"spec.podGroupPolicy", "{coscheduling: {}}"}});
    const Json elastic =
        changed(runtime, {{"spec.mlPolicy", "{torch: {elasticPolicy: {minNodes: 1, maxNodes: 2}}}"}});
    const char* const waits = "[{name: node, active: 1}]";
    CHECK(of_gang(runtime, waits).size() == 1);
    CHECK(of_gang(runtime, "[]").empty());
    CHECK(of_gang(elastic, waits).empty());
    CHECK(of_gang(plain_runtime(), waits).empty());
    const api::TrainJob job = api::parse_train_job(train_job());
    CHECK(runtime::conditions_of_plugins(job, nullptr, runtime).empty());
    const api::JobSet ended = {.finished = api::Condition{.type = "Completed"},
                               .replicated_jobs = api::parse_jobs_status(tree(waits))};
    CHECK(runtime::conditions_of_plugins(job, &ended, runtime).empty());
}
