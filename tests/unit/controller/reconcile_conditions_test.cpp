// Conditions that plugins contribute.
#include "life.hpp"

namespace controller {
namespace {

// Tells of a ConfigMap "weather", and of what is not its business.
class Weather final : public runtime::Plugin {
public:
    std::string_view name() const override { return "weather"; }
    bool has_conditions() const override { return true; }
    void add_condition_needs(const api::TrainJob& job, std::vector<runtime::Need>& needs) const override {
        needs.push_back({.resource = api::resources::config_maps, .key = {job.meta.ns, "weather"}});
    }
    void add_conditions(const runtime::ConditionsContext& context,
                        std::vector<api::Condition>& conditions) const override {
        const bool known = !context.observed.empty();
        const std::string text(known ? context.observed[0]["data"]["sky"].as_string() : "");
        conditions.push_back({.type = "SkyKnown",
                              .status = known ? "True" : "False",
                              .reason = context.job_set ? "JobSetIsThere" : "JobSetIsMissing",
                              .message = text});
        conditions.push_back({.type = "Failed", .status = "True", .reason = "Rain", .message = "wet"});
    }
};

runtime::Pipeline with_weather() {
    runtime::Pipeline pipeline = runtime::make_pipeline({});
    pipeline.insert(pipeline.begin(), std::make_unique<Weather>());
    return pipeline;
}

Json weather(const char* sky) {
    Json map =
        api::parse_json(
            R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "weather", "namespace": "ns"}})")
            .value();
    map["data"]["sky"] = sky;
    return map;
}

const std::string weather_path = config_maps_path + "/weather";

std::optional<api::Error> no_weather(const kube::Request& request) {
    if (request.target != weather_path) return std::nullopt;
    return api::Error{.code = api::Errc::unavailable, .message = "try later", .http_status = 503};
}

}  // namespace

TEST_CASE("a plugin's conditions are written with the status, and follow what it sees", "[conditions]") {
    Life life(with_weather());
    life.reconcile();
    CHECK(life.condition("SkyKnown") == "False/JobSetIsMissing");
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");

    life.server.put(config_maps, weather("blue"));
    life.reconcile();
    CHECK(life.condition("SkyKnown") == "True/JobSetIsThere");
    CHECK(life.message("SkyKnown") == "blue");
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

TEST_CASE("what a plugin cannot see holds up neither the end of a job nor its deadline", "[conditions]") {
    for (const bool late : {false, true}) {
        Life life(with_weather());
        life.reconcile();
        life.server.refuse_read = no_weather;
        if (late) {
            life.set_in_job("activeDeadlineSeconds", 60);
            life.server.now += 1h;
        } else {
            life.finish_job_set();
        }
        CHECK(life.reconcile().error);
        CHECK(life.condition(late ? "Failed" : "Complete") ==
              (late ? "True/DeadlineExceeded" : "True/AllJobsCompleted"));
    }
}

TEST_CASE("what a plugin cannot see holds up nothing but its conditions", "[conditions]") {
    Life life(with_weather());
    life.server.refuse_read = no_weather;
    life.reconcile();
    CHECK(life.server.find(job_sets, key) != nullptr);
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    CHECK(life.condition("SkyKnown").empty());
    const ReconcileResult report = life.reconcile();
    REQUIRE(report.error);
    CHECK(report.error->message == "try later");
    CHECK(report.requeue_after);
    life.server.refuse_read = {};
    life.reconcile();
    CHECK(life.condition("SkyKnown") == "False/JobSetIsThere");
}

}  // namespace controller
