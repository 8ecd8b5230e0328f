// Coscheduling. gang_test.cpp has the part that it shares with Volcano.
#include "gang_objects.hpp"

using api::Json;

TEST_CASE("a label and a PodGroup make a gang for coscheduling", "[gang]") {
    struct Case {
        const char* name;
        std::vector<Change> changes;
        const char* want;
    };
    const Case cases[] = {
        {"a timeout",
         {{"spec.podGroupPolicy.coscheduling.scheduleTimeoutSeconds", "120"}},
         "{minMember: 2, scheduleTimeoutSeconds: 120}"},
        {"stored without the default", {}, "{minMember: 2, scheduleTimeoutSeconds: 60}"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json runtime = changed(gang_runtime("coscheduling"), c.changes);
            const Json group = pod_group(runtime);
            CHECK(group["spec"] == tree(c.want));
            check_group(group, "scheduling.x-k8s.io/v1alpha1");
            const Json job_set = build_gang(runtime)->objects.back().object;
            CHECK(pod_metadata(job_set) == tree("{labels: {scheduling.x-k8s.io/pod-group: job}}"));
        }
    }
}
