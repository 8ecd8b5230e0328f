// Volcano. gang_test.cpp has the part that it shares with coscheduling.
#include "gang_objects.hpp"
#include "runtime/validation.hpp"

using api::Json;

TEST_CASE("an annotation and a PodGroup make a gang for Volcano", "[gang]") {
    struct Case {
        const char* name;
        std::vector<Change> changes;
        const char* want;
    };
    const Case cases[] = {
        {"nothing said", {}, "{minMember: 2}"},
        {"a queue",
         {{"spec.template.metadata.annotations.\"scheduling.volcano.sh/queue-name\"", "fast"}},
         "{minMember: 2, queue: fast}"},
        {"a priority",
         {{"spec.template.spec.replicatedJobs[0].template.spec.template.spec.priorityClassName", "high"}},
         "{minMember: 2, priorityClassName: high}"},
        {"a topology",
         {{"spec.podGroupPolicy.volcano.networkTopology", "{mode: soft, highestTierAllowed: 3}"}},
         "{minMember: 2, networkTopology: {mode: soft, highestTierAllowed: 3}}"},
        {"a topology stored without the tier",
         {{"spec.podGroupPolicy.volcano.networkTopology", "{mode: hard}"}},
         "{minMember: 2, networkTopology: {mode: hard}}"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json runtime = changed(gang_runtime("volcano"), c.changes);
            const Json group = pod_group(runtime);
            CHECK(group["spec"] == tree(c.want));
            check_group(group, "scheduling.volcano.sh/v1beta1");
            const Json job_set = build_gang(runtime)->objects.back().object;
            CHECK(pod_metadata(job_set) == tree("{annotations: {scheduling.k8s.io/group-name: job}}"));
        }
    }
}

TEST_CASE("Volcano's gangs have one priority class", "[gang]") {
    const auto built = build_gang(with_classes("volcano", "priorityClassName", 2));
    REQUIRE_FALSE(built);
    CHECK(describe(built.error()) ==
          "spec.template.spec.replicatedJobs[1].template.spec.template.spec.priorityClassName: \"class-1\" "
          "differs from \"class-0\" of an earlier job: under Volcano all have the same");
}

TEST_CASE("of many priority classes, which are refused anyway, few are looked up", "[gang]") {
    const Json runtime = with_classes("volcano", "priorityClassName", 1000);
    CHECK(runtime::review_needs(runtime).size() == 8);
    std::vector<Json> observed;
    for (const runtime::Need& need : runtime::review_needs(runtime))
        observed.push_back(Json::object({{"apiVersion", api_version(need.resource)},
                                         {"kind", need.resource.kind},
                                         {"metadata", Json::object({{"name", need.key.name}})}}));
    const auto findings =
        runtime::validate_train_job({.object = train_job(), .runtime = &runtime, .observed = &observed});
    std::string of_volcano;
    for (const api::FieldError& error : findings.errors)
        if (error.rule == "volcano") of_volcano += error.detail;
    CHECK(of_volcano ==
          "its jobs have different priority classes, \"class-0\" and \"class-1\": under Volcano all have the "
          "same");
}
