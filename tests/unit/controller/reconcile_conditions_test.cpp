// Conditions that plugins contribute.
#include "life.hpp"

namespace controller {
namespace {

// Says whether there is a JobSet, and what is not its business.
class Weather final : public runtime::Plugin {
public:
    std::string_view name() const override { return "weather"; }
    void add_conditions(const runtime::ConditionsContext& context,
                        std::vector<api::Condition>& conditions) const override {
        conditions.push_back({.type = "SkyKnown",
                              .status = context.job_set ? "True" : "False",
                              .reason = context.runtime.is_null() ? "NoRuntime" : "Looked",
                              .message = std::string(context.runtime["metadata"]["name"].as_string())});
        conditions.push_back({.type = "Failed", .status = "True", .reason = "Rain", .message = "wet"});
    }
};

runtime::Pipeline with_weather() {
    runtime::Pipeline pipeline = runtime::make_pipeline({});
    pipeline.plugins.insert(pipeline.begin(), std::make_unique<Weather>());
    return pipeline;
}

}  // namespace

TEST_CASE("a plugin's conditions are written with the status, and follow what it sees", "[conditions]") {
    Life life(with_weather());
    life.reconcile();
    CHECK(life.condition("SkyKnown") == "False/Looked");
    CHECK(life.message("SkyKnown") == "torch");
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");

    life.reconcile();
    CHECK(life.condition("SkyKnown") == "True/Looked");
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{});
}

TEST_CASE("a plugin cannot write the conditions of a job's life", "[conditions]") {
    Life life(with_weather());
    life.reconcile();
    CHECK(life.condition("Failed").empty());
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    life.finish_job_set();
    life.reconcile();
    CHECK(life.condition("Failed").empty());
    CHECK(life.condition("Complete") == "True/AllJobsCompleted");
}

TEST_CASE("a gang says why it waits, until all of its Pods are ready", "[conditions]") {
    Life life;
    life.set_in_runtime("podGroupPolicy", api::parse_json(R"({"coscheduling": {}})").value());
    life.reconcile();
    life.reconcile();
    CHECK(life.condition("GangReady").empty());
    life.count_in_job_set(R"([{"name": "node", "active": 1}])");
    life.reconcile();
    CHECK(life.condition("GangReady") == "False/PodsNotReady");
    CHECK_THAT(life.message("GangReady"), Catch::StartsWith("not all Pods of job node are ready"));
    life.count_in_job_set(R"([{"name": "node", "active": 1, "ready": 1}])");
    life.server.take_writes();
    life.reconcile();
    CHECK(life.condition("GangReady") == "True/PodsReady");
    CHECK(life.server.take_writes().size() == 1);  // with the counts
}

TEST_CASE("a gang says nothing of its Pods once the job has ended or is suspended", "[conditions]") {
    Life life;
    life.set_in_runtime("podGroupPolicy", api::parse_json(R"({"coscheduling": {}})").value());
    life.reconcile();
    life.count_in_job_set(R"([{"name": "node", "active": 1, "ready": 1}])");
    life.reconcile();
    CHECK(life.condition("GangReady") == "True/PodsReady");

    SECTION("ended") {
        life.finish_job_set();
        life.reconcile();
        CHECK(life.condition("Complete") == "True/AllJobsCompleted");
    }
    SECTION("ended while its runtime is not known") {
        life.server.erase(cluster_training_runtimes, torch);
        life.finish_job_set();
        life.reconcile();
        CHECK(life.condition("Complete") == "True/AllJobsCompleted");
    }
    SECTION("suspended") {
        life.set_suspend(true);
        life.reconcile();
        life.reconcile();
        CHECK(life.condition("Suspended").starts_with("True/"));
    }
    CHECK(life.condition("GangReady").empty());
}

}  // namespace controller
