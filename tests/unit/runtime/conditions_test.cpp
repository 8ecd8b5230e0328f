#include "runtime/conditions.hpp"

#include "fixtures.hpp"
#include "runtime/plugin.hpp"

namespace {

// Reports whether a ConfigMap of the TrainJob's name exists, and how many Jobs have succeeded.
class Reporter final : public runtime::Plugin {
public:
    std::string_view name() const override { return "reporter"; }
    bool has_conditions() const override { return true; }

    void add_condition_needs(const api::TrainJob& job, std::vector<runtime::Need>& needs) const override {
        needs.push_back({.resource = api::resources::config_maps, .key = job.meta.key()});
    }
    void add_conditions(const runtime::ConditionsContext& context,
                        std::vector<api::Condition>& conditions) const override {
        const bool seen = !context.observed.empty();
        conditions.push_back(
            {.type = "Seen", .status = seen ? "True" : "False", .reason = "Seen", .message = "reporter"});
        if (context.job_set)
            conditions.push_back({.type = "Made", .status = "True", .reason = "Made", .message = "reporter"});
    }
};

}  // namespace

TEST_CASE("plugins add conditions, in their order, from the objects that they need", "[conditions]") {
    runtime::Pipeline pipeline;
    pipeline.push_back(std::make_unique<Reporter>());
    const api::TrainJob job = api::parse_train_job(train_job());
    const auto needs = runtime::condition_needs(job, pipeline);
    REQUIRE(needs.size() == 1);
    CHECK(needs[0].key == job.meta.key());

    const api::JobSet job_set;
    const std::vector<api::Json> nothing;
    const std::vector<api::Json> map = {tree("{apiVersion: v1, kind: ConfigMap}")};
    const auto before = runtime::conditions_of_plugins({job, nullptr, nothing}, pipeline);
    REQUIRE(before.size() == 1);
    CHECK(before[0].status == "False");
    const auto after = runtime::conditions_of_plugins({job, &job_set, map}, pipeline);
    REQUIRE(after.size() == 2);
    CHECK(after[0].status == "True");
    CHECK(after[1].type == "Made");
}

TEST_CASE("no built-in plugin adds conditions or needs objects for them", "[conditions]") {
    const api::TrainJob job = api::parse_train_job(train_job());
    CHECK(runtime::condition_needs(job).empty());
    CHECK(runtime::conditions_of_plugins({job, nullptr, {}}).empty());
}
