// The shared part of gang scheduling: the Pods of a gang, and their requests.
#include "gang_objects.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

const Json kata = tree(
    "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, overhead: {podFixed: {cpu: "
    "250m}}}");

}  // namespace

TEST_CASE("a gang of two nodes needs the requests of both Pods", "[gang]") {
    struct Case {
        const char* name;
        const char* pod_spec;
        const char* want;
    };
    const Case cases[] = {
        {"nothing requested", "{containers: [{name: node, image: i}]}", ""},
        {"requests",
         "{containers: [{name: node, image: i, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}",
         "cpu=1 memory=2Gi"},
        {"a limit stands for a missing request",
         "{containers: [{name: node, image: i, resources: {requests: {cpu: 1}, limits: {cpu: 4, "
         "nvidia.com/gpu: 2}}}]}",
         "cpu=2 nvidia.com/gpu=4"},
        {"containers add up",
         "{containers: [{name: node, image: i, resources: {requests: {cpu: 1}}}, {name: log, image: i, "
         "resources: {requests: "
         "{cpu: "
         "200m}}}]}",
         "cpu=2400m"},
        {"an init container that takes more than the containers",
         "{initContainers: [{name: get, image: i, resources: {requests: {cpu: 4}}}], containers: [{name: "
         "node, image: i, "
         "resources: "
         "{requests: {cpu: 1}}}]}",
         "cpu=8"},
        {"an init container that takes less",
         "{initContainers: [{name: get, image: i, resources: {requests: {cpu: 500m}}}], containers: [{name: "
         "node, image: i, "
         "resources: {requests: {cpu: 1}}}]}",
         "cpu=2"},
        {"a sidecar adds to the containers and to the init containers after it",
         "{initContainers: [{name: side, image: i, restartPolicy: Always, resources: {requests: {cpu: "
         "200m}}}, {name: "
         "get, image: i, "
         "resources: {requests: {cpu: 4}}}], containers: [{name: node, image: i, resources: {requests: {cpu: "
         "1500m}}}]}",
         "cpu=8400m"},
        {"a sidecar does not add to the init containers before it",
         "{initContainers: [{name: get, image: i, resources: {requests: {cpu: 4}}}, {name: side, image: i, "
         "restartPolicy: "
         "Always, "
         "resources: {requests: {cpu: 200m}}}], containers: [{name: node, image: i, resources: {requests: "
         "{cpu: "
         "1500m}}}]}",
         "cpu=8"},
        {"what the Pod itself requests replaces cpu, memory and huge pages, and nothing else",
         "{resources: {requests: {cpu: 3, hugepages-2Mi: 4Mi, nvidia.com/gpu: 9}}, containers: [{name: node, "
         "image: i, "
         "resources: {requests: {cpu: 1, nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}}]}",
         "cpu=6 hugepages-2Mi=8Mi nvidia.com/gpu=2"},
        {"overhead comes on top",
         "{overhead: {cpu: 100m, memory: 10M}, containers: [{name: node, image: i, resources: {requests: "
         "{cpu: 1}}}]}",
         "cpu=2200m memory=20M"},
        {"the overhead of the RuntimeClass",
         "{runtimeClassName: kata, containers: [{name: node, image: i, resources: {requests: {cpu: 1}}}]}",
         "cpu=2500m"},
        {"the template's own overhead goes before the RuntimeClass's",
         "{runtimeClassName: kata, overhead: {cpu: 1}, containers: [{name: node, image: i, resources: "
         "{requests: {cpu: "
         "1}}}]}",
         "cpu=4"},
        {"a RuntimeClass that does not exist has no overhead",
         "{runtimeClassName: other, containers: [{name: node, image: i, resources: {requests: {cpu: 1}}}]}",
         "cpu=2"},
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
         "cpu=2 memory=2Mi nvidia.com/gpu=4"},
        {"not those for Pods", "[{type: Pod, defaultRequest: {memory: 1Mi}}]", "cpu=2 nvidia.com/gpu=4"},
    };
    const Json runtime = with_pod("volcano",
                                  "{containers: [{name: node, image: i, resources: {requests: {cpu: 1}, "
                                  "limits: {nvidia.com/gpu: 2}}}]}");
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            CHECK(resources_of(pod_group(runtime, {limit_range("range", c.limits)})) == c.want);
        }
    const Objects two = {limit_range("b", "[{type: Container, defaultRequest: {memory: 2Mi}}]"),
                         limit_range("a", "[{type: Container, defaultRequest: {memory: 1Mi}}]")};
    CHECK(resources_of(pod_group(runtime, two)) == "cpu=2 memory=2Mi nvidia.com/gpu=4");
}

TEST_CASE("a gang is those Pods that can exist at the same time", "[gang]") {
    struct Case {
        const char* name;
        const char* jobs;
        const char* startup;
        const char* members;
        std::int64_t min_member;
    };
#define POD "spec: {template: {spec: {containers: [{name: node, image: i}]}}}"
#define TRAINER "metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, " POD
    const Case cases[] = {
        {"all, where no group waits",
         "[{name: a, template: {" POD "}}, {name: node, template: {" TRAINER "}}]", "", "a node", 3},
        {"not the initializers that nodes wait for",
         "[{name: init, template: {" POD
         "}}, {name: node, dependsOn: [{name: init, status: Complete}], template: {" TRAINER "}}]",
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
                CHECK(marked(build_gang(runtime)->objects.back().object) == c.members);
            }
        }
}

TEST_CASE("Pods that follow members need room beside them, but no scheduler waits for them", "[gang]") {
    struct Case {
        const char* name;
        const char* jobs;
        const char* startup;
        const char* in_gang;
        const char* resources;
    };
#define POD(cpu)                                                                                     \
    "template: {spec: {template: {spec: {containers: [{name: node, image: i, resources: {requests: " \
    "{cpu: " #cpu "}}}]}}}}"
    const Case cases[] = {
        {"a launcher that waits for nodes",
         "[{name: node, " POD(10) "}, {name: launcher, dependsOn: [{name: node, status: Ready}], " POD(
             1) "}]",
         "", "node launcher", "cpu=21"},
        {"a chain of them",
         "[{name: node, " POD(10) "}, {name: b, dependsOn: [{name: node, status: Ready}], " POD(
             1) "}, {name: c, dependsOn: [{name: b, status: Ready}], " POD(2) "}]",
         "", "node b c", "cpu=23"},
        {"with replicas",
         "[{name: node, " POD(10) "}, {name: b, replicas: 3, dependsOn: [{name: node, status: Ready}], " POD(
             1) "}]",
         "", "node b", "cpu=23"},
        {"not those that wait for the end of members",
         "[{name: node, " POD(10) "}, {name: report, dependsOn: [{name: node, status: Complete}], " POD(
             1) "}, {name: c, dependsOn: [{name: report, status: Ready}], " POD(2) "}]",
         "", "node", "cpu=20"},
        {"not those that wait for the end of another follower",
         "[{name: node, " POD(10) "}, {name: b, dependsOn: [{name: node, status: Ready}], " POD(
             1) "}, {name: c, dependsOn: [{name: node, status: Ready}, {name: b, status: "
                "Complete}], " POD(2) "}]",
         "", "node b", "cpu=21"},
        {"not what has come before",
         "[{name: init, " POD(5) "}, {name: node, dependsOn: [{name: init, status: Complete}], " POD(
             10) "}, {name: b, dependsOn: [{name: init, status: Complete}, {name: node, status: "
                 "Ready}], " POD(1) "}]",
         "", "node b", "cpu=21"},
        {"one by one", "[{name: a, " POD(5) "}, {name: node, " POD(10) "}, {name: b, " POD(1) "}]",
         "{startupPolicyOrder: InOrder}", "node b", "cpu=21"},
    };
#undef POD
    for (const char* policy : {"coscheduling", "volcano"})
        for (const Case& c : cases) {
            DYNAMIC_SECTION(policy << ": " << c.name) {
                Json runtime = gang_runtime(policy);
                at(runtime, "spec.template.spec.replicatedJobs") = tree(c.jobs);
                for (Json& job : at(runtime, "spec.template.spec.replicatedJobs").items())
                    if (job["name"] == Json("node"))
                        job["template"]["metadata"]["labels"]["trainer.kubeflow.org/trainjob-ancestor-step"] =
                            "trainer";
                if (*c.startup) at(runtime, "spec.template.spec.startupPolicy") = tree(c.startup);
                const Json group = pod_group(runtime);
                CHECK(group["spec"]["minMember"].int_or(0) == 2);
                CHECK(resources_of(group) == c.resources);
                CHECK(marked(build_gang(runtime)->objects.back().object) == c.in_gang);
            }
        }
}

TEST_CASE("a gang of more Pods than can be counted is refused", "[gang]") {
    Json runtime = gang_runtime("coscheduling");
    for (int index = 0; index < 3; ++index) {
        Json job = tree("{replicas: 2147483647, template: {spec: {parallelism: 2147483647, template: {}}}}");
        job["name"] = "a" + std::to_string(index);
        at(runtime, "spec.template.spec.replicatedJobs").push_back(std::move(job));
    }
    const auto built = build_gang(runtime);
    REQUIRE_FALSE(built);
    CHECK(built.error().field == "spec.trainer.numNodes");
}

TEST_CASE("a gang that goes on waits for no Pods that do not run again, unless its scheduler counts those",
          "[gang]") {
    struct Case {
        const char* name;
        const char* policy;
        std::vector<Change> changes;
        std::vector<std::int64_t> done;
        int want;
    };
    const char* const elastic = "{numNodes: 4, torch: {elasticPolicy: {minNodes: 2, maxNodes: 4}}}";
    const Case cases[] = {
        {"one of two", "coscheduling", {}, {1}, 1},
        {"with Kubernetes' scheduler", "kubernetes", {}, {1}, 1},
        {"Volcano counts those that have ended", "volcano", {}, {1}, 2},
        {"all of them", "coscheduling", {}, {2}, 1},
        {"all of them, with Kubernetes' scheduler", "kubernetes", {}, {2}, 1},
        {"those of a Job that is finished", "kubernetes", {}, {std::numeric_limits<std::int64_t>::max()}, 1},
        {"as many of an elastic gang as it needs", "kubernetes", {{"spec.mlPolicy", elastic}}, {2}, 2},
        {"fewer of an elastic gang than it needs", "kubernetes", {{"spec.mlPolicy", elastic}}, {3}, 1},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            const Json runtime = changed(gang_runtime(c.policy), c.changes);
            const api::TrainJob parsed = api::parse_train_job(train_job());
            const auto built = runtime::build(
                {.job = parsed, .runtime = runtime, .done = {{"node", c.done}, {"other", {9}}}});
            if (!built) FAIL(built.error());
            const Json& spec = (built->objects.end() - 2)->object["spec"];
            const Json& size =
                spec.contains("minMember") ? spec["minMember"] : spec["schedulingPolicy"]["gang"]["minCount"];
            CHECK(size == Json(c.want));
        }
}

TEST_CASE("each Job of a gang counts its own Pods that do not run again, and they need no room", "[gang]") {
    Json runtime = gang_runtime("coscheduling");
    at(runtime, "spec.template.spec.replicatedJobs").items()[0] = tree(
        "{name: workers, replicas: 3, template: {spec: {parallelism: 4, template: {spec: {containers: "
        "[{name: a, image: i, resources: {requests: {cpu: 1}}}]}}}}}");
    const api::TrainJob parsed = api::parse_train_job(train_job());
    const auto built = runtime::build({.job = parsed, .runtime = runtime, .done = {{"workers", {4, 1}}}});
    if (!built) FAIL(built.error());
    const Json& group = (built->objects.end() - 2)->object;
    CHECK(group["spec"]["minMember"] == Json(7));
    CHECK(resources_of(group) == "cpu=7");
}

// With a set of names for each job, these took gigabytes.
TEST_CASE("thousands of jobs, each after the one before, are handled in time", "[gang]") {
    Json jobs = Json::array();
    for (int index = 0; index < 8'000; ++index) {
        Json job = tree("{template: {spec: {template: {}}}}");
        job["name"] = "a" + std::to_string(index);
        jobs.push_back(std::move(job));
    }
    Json runtime = gang_runtime("coscheduling");
    std::string want = "a0";
    const auto depend = [&jobs](const char* status) {
        for (std::size_t index = 1; index < jobs.items().size(); ++index) {
            Json dependency = Json::object({{"status", status}});
            dependency["name"] = "a" + std::to_string(index - 1);
            jobs.items()[index]["dependsOn"].push_back(std::move(dependency));
        }
    };
    const auto want_all = [&] {
        for (std::size_t index = 1; index < jobs.items().size(); ++index)
            want += " a" + std::to_string(index);
    };
    SECTION("by the startup policy") {
        at(runtime, "spec.template.spec.startupPolicy.startupPolicyOrder") = "InOrder";
        want_all();
    }
    SECTION("when the one before has ended") { depend("Complete"); }
    SECTION("when the one before is ready") {
        depend("Ready");
        want_all();
    }
    at(runtime, "spec.template.spec.replicatedJobs") = std::move(jobs);
    const auto built = build_gang(runtime);
    if (!built) FAIL(built.error());
    CHECK(marked(built->objects.back().object) == want);
}

TEST_CASE("a gang needs its PodGroup, LimitRanges and RuntimeClasses", "[gang]") {
    const Json runtime =
        with_pod("volcano", "{runtimeClassName: kata, containers: [{name: node, image: i}]}");
    const runtime::Needs needs = runtime::needs(api::parse_train_job(train_job()), runtime);
    const std::vector<runtime::Need> want = {
        {.resource = {"scheduling.volcano.sh", "v1beta1", "podgroups", true, "PodGroup"},
         .key = {"ns", "job"},
         .apply = runtime::ApplyPolicy::with_job_set},
        {.resource = api::resources::limit_ranges, .key = {"ns", ""}},
        {.resource = api::resources::runtime_classes, .key = {"", "kata"}}};
    CHECK(needs.objects == want);
    CHECK(runtime::needs(api::parse_train_job(train_job()), plain_runtime()).objects.empty());
}

TEST_CASE("a gang of more RuntimeClasses than clusters have is refused, and none of them is read", "[gang]") {
    const auto needs_of = [](const Json& runtime) {
        return runtime::needs(api::parse_train_job(train_job()), runtime).objects.size();
    };
    const Json most = with_classes("coscheduling", "runtimeClassName", 32);
    CHECK(build_gang(most).has_value());
    CHECK(needs_of(most) == 2 + 32);  // with the PodGroup and the LimitRanges
    const Json more = with_classes("coscheduling", "runtimeClassName", 33);
    const auto built = build_gang(more);
    REQUIRE_FALSE(built);
    CHECK(built.error().field ==
          "spec.template.spec.replicatedJobs[32].template.spec.template.spec.runtimeClassName");
    CHECK(needs_of(more) == 2);
}

TEST_CASE("an impossible gang is refused with the field", "[gang]") {
    Json both = gang_runtime("volcano");
    both["spec"]["podGroupPolicy"]["coscheduling"] = Json::object();
    const auto built = build_gang(both);
    REQUIRE_FALSE(built);
    CHECK(describe(built.error()) == "spec.podGroupPolicy: coscheduling and volcano exclude each other");
    const auto unreadable = build_gang(
        with_pod("volcano", "{containers: [{name: node, image: i, resources: {requests: {cpu: much}}}]}"));
    REQUIRE_FALSE(unreadable);
    CHECK(describe(unreadable.error())
              .starts_with("spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]."
                           "resources.requests.cpu: \"much\" is not a quantity"));
}

TEST_CASE("there is a warning for a gang that waits for Pods which come later", "[gang]") {
    const Change exclusive = {"spec.template.metadata.annotations",
                              "{alpha.jobset.sigs.k8s.io/exclusive-topology: rack}"};
    struct Case {
        const char* name;
        std::vector<Change> job;
        std::vector<Change> runtime;
        const char* want;
    };
    const Case cases[] = {
        {"by an annotation of the JobSet",
         {{"spec.trainer.numNodes", "2"}},
         {{"spec.podGroupPolicy.coscheduling", "{}"}, exclusive},
         "no Pod will start: podGroupPolicy.coscheduling waits for all Pods"},
        {"by an annotation of one job",
         {{"spec.trainer.numNodes", "2"}},
         {{"spec.podGroupPolicy.volcano", "{}"},
          {"spec.template.spec.replicatedJobs[0].template.metadata.annotations",
           "{alpha.jobset.sigs.k8s.io/exclusive-topology: rack}"}},
         "podGroupPolicy.volcano"},
        {"not with one Pod", {}, {{"spec.podGroupPolicy.coscheduling", "{}"}, exclusive}, ""},
        {"not with an elastic job that can run with one Pod",
         {{"spec.trainer.numNodes", "2"}},
         {{"spec.mlPolicy", "{torch: {elasticPolicy: {minNodes: 1, maxNodes: 3}}}"},
          {"spec.podGroupPolicy.coscheduling", "{}"},
          exclusive},
         ""},
        {"an elastic job that needs two",
         {{"spec.trainer.numNodes", "3"}},
         {{"spec.mlPolicy", "{torch: {elasticPolicy: {minNodes: 2, maxNodes: 3}}}"},
          {"spec.podGroupPolicy.coscheduling", "{}"},
          exclusive},
         "no Pod will start: podGroupPolicy.coscheduling waits for all Pods"},
        {"not with labelled nodes",
         {{"spec.trainer.numNodes", "2"}},
         {{"spec.podGroupPolicy.coscheduling", "{}"},
          {"spec.template.metadata.annotations",
           "{alpha.jobset.sigs.k8s.io/exclusive-topology: rack, alpha.jobset.sigs.k8s.io/node-selector: "
           "'true'}"}},
         ""},
        {"not where room is held",
         {{"spec.trainer.numNodes", "2"}},
         {{"spec.podGroupPolicy.yunikorn", "{}"}, exclusive},
         ""},
        {"not without a gang", {{"spec.trainer.numNodes", "2"}}, {exclusive}, ""},
        {"once, with two policies",
         {{"spec.trainer.numNodes", "2"}},
         {{"spec.podGroupPolicy", "{volcano: {}, coscheduling: {}}"}, exclusive},
         "podGroupPolicy.coscheduling"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json job = changed(train_job(), c.job);
            const Json runtime = changed(plain_runtime(), c.runtime);
            const auto findings = runtime::validate_train_job({.object = job, .runtime = &runtime});
            REQUIRE(findings.warnings.size() == (std::string_view(c.want).empty() ? 0 : 1));
            for (const auto& [text, rule] : findings.warnings) {
                CHECK_THAT(text, Catch::Contains(c.want));
                CHECK(rule == "exclusive_gang");
            }
        }
    }
}

TEST_CASE("Pods of a gang that name no scheduler get the platform's", "[gang]") {
    const auto schedulers_with = [](const char* policy, const char* pod_spec) {
        const api::TrainJob job = api::parse_train_job(train_job());
        const Json runtime = with_pod(policy, pod_spec);
        const runtime::Pipeline pipeline =
            runtime::make_pipeline({.gang_schedulers = {.coscheduling = "gangs", .volcano = "volcano"}});
        const auto built = runtime::build({.job = job, .runtime = runtime, .observed = {}}, pipeline);
        REQUIRE(built);
        const Json& job_set = built->objects.back().object;
        const Json& first = job_set["spec"]["replicatedJobs"].items().at(0);
        CHECK(runtime::validate_runtime(runtime, Json(), pipeline).warnings.empty());
        return std::string(first["template"]["spec"]["template"]["spec"]["schedulerName"].as_string());
    };
    const char* const unset = "{containers: [{name: node, image: i}]}";
    const char* const own = "{schedulerName: own, containers: [{name: node, image: i}]}";
    CHECK(schedulers_with("coscheduling", unset) == "gangs");
    CHECK(schedulers_with("volcano", unset) == "volcano");
    CHECK(schedulers_with("volcano", own) == "own");
}
