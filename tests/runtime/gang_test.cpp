// Gang scheduling: coscheduling and Volcano.
#include <set>

#include "fixtures.hpp"
#include "runtime/plugin.hpp"

namespace {

using api::Json;
using Objects = std::vector<Json>;

const char* const node = "spec.template.spec.replicatedJobs[0].template.spec.template.spec";

Json gang_runtime(const char* policy) {
    Json runtime = plain_runtime();
    runtime["spec"]["mlPolicy"] = tree("{numNodes: 2}");
    runtime["spec"]["podGroupPolicy"][policy] = Json::object();
    return runtime;
}

Json with_pod(const char* policy, const char* pod_spec) {
    Json runtime = gang_runtime(policy);
    at(runtime, node) = tree(pod_spec);
    return runtime;
}

api::Result<runtime::Built> build(const Json& runtime, const Objects& observed = {},
                                  const Json& job = train_job()) {
    const api::TrainJob parsed = api::parse_train_job(job);
    return runtime::build({.job = parsed, .runtime = runtime, .observed = observed});
}

Json pod_group(const Json& runtime, const Objects& observed = {}) {
    const auto built = build(runtime, observed);
    if (!built) FAIL(built.error());
    REQUIRE(built->objects.size() == 2);
    CHECK(built->objects.front().when == runtime::Applied::with_job_set);
    return built->objects.front().object;
}

// "cpu=2 memory=1073741824"
std::string resources_of(const Json& group) {
    std::string text;
    for (const auto& [name, quantity] : group["spec"]["minResources"].members())
        text += (text.empty() ? "" : " ") + name + "=" + std::string(quantity.as_string());
    return text;
}

// Jobs whose Pods are in the gang.
std::string marked(const Json& job_set) {
    std::string text;
    for (const Json& job : job_set["spec"]["replicatedJobs"].items()) {
        const Json& metadata = job["template"]["spec"]["template"]["metadata"];
        if (metadata["labels"]["scheduling.x-k8s.io/pod-group"].as_string() == "job" ||
            metadata["annotations"]["scheduling.k8s.io/group-name"].as_string() == "job")
            text += (text.empty() ? "" : " ") + std::string(job["name"].as_string());
    }
    return text;
}

Json limit_range(const char* name, const char* limits) {
    Json range = tree("{apiVersion: v1, kind: LimitRange, metadata: {namespace: ns}}");
    range["metadata"]["name"] = name;
    range["spec"]["limits"] = tree(limits);
    return range;
}

const Json kata = tree(
    "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, overhead: {podFixed: {cpu: "
    "250m}}}");

}  // namespace

TEST_CASE("a gang of two nodes needs what both Pods request", "[gang]") {
    struct Case {
        const char* name;
        const char* pod_spec;
        const char* want;
    };
    const Case cases[] = {
        {"nothing requested", "{containers: [{name: node}]}", ""},
        {"requests", "{containers: [{name: node, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}",
         "cpu=1 memory=2147483648"},
        {"a limit stands for a missing request",
         "{containers: [{name: node, resources: {requests: {cpu: 1}, limits: {cpu: 4, nvidia.com/gpu: 2}}}]}",
         "cpu=2 nvidia.com/gpu=4"},
        {"containers add up",
         "{containers: [{name: node, resources: {requests: {cpu: 1}}}, {name: log, resources: {requests: "
         "{cpu: "
         "200m}}}]}",
         "cpu=2400m"},
        {"an init container that takes more than the containers",
         "{initContainers: [{name: get, resources: {requests: {cpu: 4}}}], containers: [{name: node, "
         "resources: "
         "{requests: {cpu: 1}}}]}",
         "cpu=8"},
        {"an init container that takes less",
         "{initContainers: [{name: get, resources: {requests: {cpu: 500m}}}], containers: [{name: node, "
         "resources: {requests: {cpu: 1}}}]}",
         "cpu=2"},
        {"a sidecar adds to the containers and to the init containers after it",
         "{initContainers: [{name: side, restartPolicy: Always, resources: {requests: {cpu: 200m}}}, {name: "
         "get, "
         "resources: {requests: {cpu: 4}}}], containers: [{name: node, resources: {requests: {cpu: "
         "1500m}}}]}",
         "cpu=8400m"},
        {"a sidecar does not add to the init containers before it",
         "{initContainers: [{name: get, resources: {requests: {cpu: 4}}}, {name: side, restartPolicy: "
         "Always, "
         "resources: {requests: {cpu: 200m}}}], containers: [{name: node, resources: {requests: {cpu: "
         "1500m}}}]}",
         "cpu=8"},
        {"what the Pod itself requests replaces cpu, memory and huge pages, and nothing else",
         "{resources: {requests: {cpu: 3, hugepages-2Mi: 4Mi, nvidia.com/gpu: 9}}, containers: [{name: node, "
         "resources: {requests: {cpu: 1, nvidia.com/gpu: 1}}}]}",
         "cpu=6 hugepages-2Mi=8388608 nvidia.com/gpu=2"},
        {"overhead comes on top",
         "{overhead: {cpu: 100m, memory: 10M}, containers: [{name: node, resources: {requests: {cpu: 1}}}]}",
         "cpu=2200m memory=20000000"},
        {"the overhead of the RuntimeClass",
         "{runtimeClassName: kata, containers: [{name: node, resources: {requests: {cpu: 1}}}]}",
         "cpu=2500m"},
        {"the template's own overhead goes before the RuntimeClass's",
         "{runtimeClassName: kata, overhead: {cpu: 1}, containers: [{name: node, resources: {requests: {cpu: "
         "1}}}]}",
         "cpu=4"},
        {"a RuntimeClass that does not exist has no overhead",
         "{runtimeClassName: other, containers: [{name: node, resources: {requests: {cpu: 1}}}]}", "cpu=2"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json group = pod_group(with_pod("coscheduling", c.pod_spec), {kata});
            CHECK(resources_of(group) == c.want);
            CHECK(group["spec"]["minMember"].int_or(0) == 2);
        }
    }
}

TEST_CASE("containers without requests get those of the namespace's LimitRanges", "[gang]") {
    struct Case {
        const char* name;
        const char* limits;
        const char* want;
    };
    const Case cases[] = {
        {"for what has neither request nor limit",
         "[{type: Container, defaultRequest: {cpu: 100m, memory: 1Mi, nvidia.com/gpu: 1}}]",
         "cpu=2 memory=2097152 nvidia.com/gpu=4"},
        {"not those for Pods", "[{type: Pod, defaultRequest: {memory: 1Mi}}]", "cpu=2 nvidia.com/gpu=4"},
    };
    const Json runtime = with_pod(
        "volcano",
        "{containers: [{name: node, resources: {requests: {cpu: 1}, limits: {nvidia.com/gpu: 2}}}]}");
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            CHECK(resources_of(pod_group(runtime, {limit_range("range", c.limits)})) == c.want);
        }
    const Objects two = {limit_range("b", "[{type: Container, defaultRequest: {memory: 2Mi}}]"),
                         limit_range("a", "[{type: Container, defaultRequest: {memory: 1Mi}}]")};
    CHECK(resources_of(pod_group(runtime, two)) == "cpu=2 memory=2097152 nvidia.com/gpu=4");
}

TEST_CASE("a gang is those Pods that can exist at the same time", "[gang]") {
    struct Case {
        const char* name;
        const char* jobs;
        const char* startup;
        const char* members;
        std::int64_t min_member;
    };
#define POD "spec: {template: {spec: {containers: [{name: node}]}}}"
#define TRAINER "metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, " POD
    const Case cases[] = {
        {"all, where nobody waits", "[{name: a, template: {" POD "}}, {name: node, template: {" TRAINER "}}]",
         "", "a node", 3},
        {"not the initializers that nodes wait for",
         "[{name: init, template: {" POD
         "}}, {name: node, dependsOn: [{name: init, status: Complete}], template: {" TRAINER "}}]",
         "", "node", 2},
        {"not the launcher that waits for nodes",
         "[{name: node, template: {" TRAINER "}}, {name: launcher, dependsOn: [{name: node, status: Ready}], "
         "template: {" POD "}}]",
         "", "node", 2},
        {"dependencies of dependencies count",
         "[{name: a, template: {" POD
         "}}, {name: b, dependsOn: [{name: a, status: Complete}], template: {" POD
         "}}, {name: c, dependsOn: [{name: b, status: Complete}], template: {" POD
         "}}, {name: node, dependsOn: [{name: a, status: Complete}, {name: b, status: Complete}], template: "
         "{" TRAINER "}}]",
         "", "c node", 3},
        {"one by one", "[{name: a, template: {" POD "}}, {name: node, template: {" TRAINER "}}]",
         "{startupPolicyOrder: InOrder}", "node", 2},
        {"the job that trains, without one called node",
         "[{name: a, template: {" POD
         "}}, {name: work, dependsOn: [{name: a, status: Ready}], template: {" TRAINER "}}]",
         "", "work", 2},
        {"equal company on different ways",
         "[{name: a, template: {" POD "}}, {name: b, template: {" POD
         "}}, {name: c, dependsOn: [{name: a, status: Ready}], template: {" POD
         "}}, {name: d, dependsOn: [{name: c, status: Ready}], template: {" POD
         "}}, {name: e, dependsOn: [{name: b, status: Ready}, {name: c, status: Ready}], template: {" POD
         "}}, {name: f, dependsOn: [{name: a, status: Ready}, {name: c, status: Ready}], template: {" POD
         "}}, {name: node, dependsOn: [{name: c, status: Ready}], template: {" TRAINER "}}]",
         "", "d f node", 4},
        {"replicas count",
         "[{name: a, replicas: 3, template: {" POD "}}, {name: node, template: {" TRAINER "}}]", "", "a node",
         5},
    };
#undef POD
#undef TRAINER
    for (const char* policy : {"coscheduling", "volcano"})
        for (const Case& c : cases) {
            DYNAMIC_SECTION(policy << ": " << c.name) {
                Json runtime = gang_runtime(policy);
                at(runtime, "spec.template.spec.replicatedJobs") = tree(c.jobs);
                if (*c.startup) at(runtime, "spec.template.spec.startupPolicy") = tree(c.startup);
                CHECK(pod_group(runtime)["spec"]["minMember"].int_or(0) == c.min_member);
                CHECK(marked(build(runtime)->objects.back().object) == c.members);
            }
        }
}

TEST_CASE("each way of gang scheduling has its PodGroup", "[gang]") {
    struct Case {
        const char* name;
        const char* policy;
        std::vector<Change> changes;
        const char* want;
    };
    const Case cases[] = {
        {"coscheduling",
         "coscheduling",
         {{"spec.podGroupPolicy.coscheduling.scheduleTimeoutSeconds", "120"}},
         "{minMember: 2, scheduleTimeoutSeconds: 120}"},
        {"coscheduling stored without the default",
         "coscheduling",
         {},
         "{minMember: 2, scheduleTimeoutSeconds: 60}"},
        {"volcano", "volcano", {}, "{minMember: 2}"},
        {"volcano's queue",
         "volcano",
         {{"spec.template.metadata.annotations.\"scheduling.volcano.sh/queue-name\"", "fast"}},
         "{minMember: 2, queue: fast}"},
        {"volcano's priority",
         "volcano",
         {{"spec.template.spec.replicatedJobs[0].template.spec.template.spec.priorityClassName", "high"}},
         "{minMember: 2, priorityClassName: high}"},
        {"volcano's topology",
         "volcano",
         {{"spec.podGroupPolicy.volcano.networkTopology", "{mode: soft, highestTierAllowed: 3}"}},
         "{minMember: 2, networkTopology: {mode: soft, highestTierAllowed: 3}}"},
        {"volcano's topology stored without the tier",
         "volcano",
         {{"spec.podGroupPolicy.volcano.networkTopology", "{mode: hard}"}},
         "{minMember: 2, networkTopology: {mode: hard}}"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json group = pod_group(changed(gang_runtime(c.policy), c.changes));
            CHECK(group["spec"] == tree(c.want));
            CHECK(group["kind"] == Json("PodGroup"));
            CHECK(group["apiVersion"] == Json(std::string_view(c.policy) == "volcano"
                                                  ? "scheduling.volcano.sh/v1beta1"
                                                  : "scheduling.x-k8s.io/v1alpha1"));
            CHECK(group["metadata"]["name"] == Json("job"));
            CHECK(group["metadata"]["namespace"] == Json("ns"));
            CHECK(group["metadata"]["ownerReferences"][0]["uid"] == Json("job-uid"));
            CHECK_FALSE(group["metadata"].contains("labels"));
        }
    }
}

TEST_CASE("a gang that cannot be is refused with the field", "[gang]") {
    const auto error = [](const Json& runtime) {
        const auto built = build(runtime);
        REQUIRE_FALSE(built);
        return built.error().field + ": " + built.error().message;
    };
    Json both = gang_runtime("volcano");
    both["spec"]["podGroupPolicy"]["coscheduling"] = Json::object();
    CHECK(error(both) == "spec.podGroupPolicy: coscheduling and volcano exclude each other");

    Json classes = gang_runtime("volcano");
    at(classes, "spec.template.spec.replicatedJobs[1]") = tree(
        "{name: other, template: {spec: {template: {spec: {priorityClassName: low, containers: [{name: "
        "a}]}}}}}");
    at(classes, "spec.template.spec.replicatedJobs[0].template.spec.template.spec.priorityClassName") =
        "high";
    CHECK(
        error(classes) ==
        "spec.template.spec.replicatedJobs[1].template.spec.template.spec.priorityClassName: \"low\" differs "
        "from \"high\" of an earlier job: under Volcano all have the same");

    CHECK(error(with_pod("volcano", "{containers: [{name: node, resources: {requests: {cpu: much}}}]}"))
              .starts_with("spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]."
                           "resources.requests.cpu: \"much\" is not a quantity"));
}

TEST_CASE("a gang of more Pods than can be counted is refused", "[gang]") {
    Json runtime = gang_runtime("coscheduling");
    for (int index = 0; index < 3; ++index) {
        Json job = tree("{replicas: 2147483647, template: {spec: {parallelism: 2147483647, template: {}}}}");
        job["name"] = "a" + std::to_string(index);
        at(runtime, "spec.template.spec.replicatedJobs").push_back(std::move(job));
    }
    const auto built = build(runtime);
    REQUIRE_FALSE(built);
    CHECK(built.error().field == "spec.trainer.numNodes");
}

// With a set of names for each job, these took gigabytes.
TEST_CASE("thousands of jobs, each after the one before, are no burden", "[gang]") {
    Json jobs = Json::array();
    for (int index = 0; index < 8'000; ++index) {
        Json job = tree("{template: {spec: {template: {}}}}");
        job["name"] = "a" + std::to_string(index);
        jobs.push_back(std::move(job));
    }
    Json runtime = gang_runtime("coscheduling");
    SECTION("by the startup policy") {
        at(runtime, "spec.template.spec.startupPolicy.startupPolicyOrder") = "InOrder";
    }
    SECTION("by what they name") {
        for (std::size_t index = 1; index < jobs.items().size(); ++index) {
            Json dependency = Json::object({{"status", "Complete"}});
            dependency["name"] = "a" + std::to_string(index - 1);
            jobs.items()[index]["dependsOn"].push_back(std::move(dependency));
        }
    }
    at(runtime, "spec.template.spec.replicatedJobs") = std::move(jobs);
    const auto built = build(runtime);
    if (!built) FAIL(built.error());
    CHECK(marked(built->objects.back().object) == "a0");
}

TEST_CASE("a gang needs to see its PodGroup, LimitRanges and RuntimeClasses", "[gang]") {
    const Json runtime = with_pod("volcano", "{runtimeClassName: kata, containers: [{name: node}]}");
    const runtime::Needs needs = runtime::needs(api::parse_train_job(train_job()), runtime);
    const std::vector<runtime::Need> want = {
        {"scheduling.volcano.sh/v1beta1", "PodGroup", {"ns", "job"}, runtime::Applied::with_job_set},
        {"v1", "LimitRange", {"ns", ""}, {}},
        {"node.k8s.io/v1", "RuntimeClass", {"", "kata"}, {}}};
    CHECK(needs.objects == want);
    CHECK(runtime::needs(api::parse_train_job(train_job()), plain_runtime()).objects.empty());
}
