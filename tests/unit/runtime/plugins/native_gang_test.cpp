// Kubernetes' own scheduler: a PodGroup that each run has anew. gang_test.cpp has the Pods of gangs.
#include "gang_objects.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

#define POD "spec.template.spec.replicatedJobs[0].template.spec.template.spec"
const char* const policy = "spec.podGroupPolicy.kubernetes";
const char* const jobs = "spec.template.spec.replicatedJobs";

struct Gang {
    Json group = {};
    Json job_set = {};
};

Gang built(const std::vector<Change>& of_runtime, const std::vector<Change>& of_job = {}) {
    const Json runtime = changed(gang_runtime("kubernetes"), of_runtime);
    const api::TrainJob job = api::parse_train_job(changed(train_job(), of_job));
    auto made = runtime::build({.job = job, .runtime = runtime});
    if (!made) FAIL(made.error());
    REQUIRE(made->objects.size() >= 2);
    runtime::BuiltObject& group = *(made->objects.end() - 2);
    CHECK(group.when == runtime::ApplyPolicy::for_run);
    return {std::move(group.object), std::move(made->objects.back().object)};
}

std::string refusal(const std::vector<Change>& of_runtime, const std::vector<Change>& of_job = {}) {
    const Json runtime = changed(gang_runtime("kubernetes"), of_runtime);
    const api::TrainJob job = api::parse_train_job(changed(train_job(), of_job));
    const auto made = runtime::build({.job = job, .runtime = runtime});
    return made ? "" : describe(made.error());
}

const Json& pod_of(const Json& job_set, std::size_t job = 0) {
    return job_set["spec"]["replicatedJobs"][job]["template"]["spec"]["template"]["spec"];
}

// The jobs whose Pods are in the PodGroup.
std::string in_group(const Json& job_set) {
    std::string text;
    for (const Json& job : job_set["spec"]["replicatedJobs"].items())
        if (job["template"]["spec"]["template"]["spec"]["schedulingGroup"]["podGroupName"] == "job")
            text += (text.empty() ? "" : " ") + std::string(job["name"].as_string());
    return text;
}

std::string job_of(const char* name, const char* depends_on, const char* labels = "{}",
                   const char* pod = "{containers: [{name: node, image: i}]}") {
    return std::string("{name: ") + name + ", dependsOn: " + depends_on +
           ", template: {metadata: {labels: " + labels + "}, spec: {template: {spec: " + pod + "}}}}";
}

const char* const trains = "{trainer.kubeflow.org/trainjob-ancestor-step: trainer}";

}  // namespace

TEST_CASE("Pods name the PodGroup of their TrainJob, which waits for all of them and is evicted as a whole",
          "[gang]") {
    const Gang gang = built({});
    check_group(gang.group, "scheduling.k8s.io/v1beta1");
    CHECK(gang.group["spec"] == tree("{schedulingPolicy: {gang: {minCount: 2}}, disruptionMode: {all: {}}}"));
    CHECK(in_group(gang.job_set) == "node");
    CHECK_FALSE(pod_of(gang.job_set).contains("schedulerName"));
}

TEST_CASE("the settings of the policy are those of the PodGroup", "[gang]") {
    struct Case {
        const char* name;
        std::vector<Change> changes;
        const char* want;
    };
    const Case cases[] = {
        {"single Pods may be evicted",
         {{policy, "{disruptionMode: Single}"}},
         "disruptionMode: {single: {}}"},
        {"all or none of them", {{policy, "{disruptionMode: All}"}}, "disruptionMode: {all: {}}"},
        {"one rack",
         {{policy, "{topologyKey: example.com/rack}"}},
         "disruptionMode: {all: {}}, schedulingConstraints: {topology: [{key: example.com/rack}]}"},
        {"the Pods' priority",
         {{POD ".priorityClassName", "high"}},
         "disruptionMode: {all: {}}, priorityClassName: high"},
        {"shared devices",
         {{policy,
           "{resourceClaims: [{name: a, resourceClaimTemplateName: t}, {name: b, resourceClaimName: c}]}"}},
         "disruptionMode: {all: {}}, resourceClaims: [{name: a, resourceClaimTemplateName: t}, {name: b, "
         "resourceClaimName: c}]"},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            CHECK(built(c.changes).group["spec"] ==
                  tree((std::string("{schedulingPolicy: {gang: {minCount: 2}}, ") + c.want + "}").c_str()));
        }
}

TEST_CASE("the PodGroup waits for its members, and followers join them", "[gang]") {
    const std::string after_data = "[{name: data, status: Complete}]";
    const std::string list = "[" + job_of("data", "[]") + ", " + job_of("node", after_data.c_str(), trains) +
                             ", " + job_of("launcher", "[{name: node, status: Ready}]") + "]";
    const Gang gang = built({{jobs, list.c_str()}});
    CHECK(in_group(gang.job_set) == "node launcher");
    CHECK(gang.group["spec"]["schedulingPolicy"]["gang"]["minCount"] == Json(2));
}

TEST_CASE("an elastic gang waits for the fewest nodes", "[gang]") {
    const Gang gang =
        built({{"spec.mlPolicy", "{numNodes: 4, torch: {elasticPolicy: {minNodes: 3, maxNodes: 4}}}"}});
    CHECK(gang.group["spec"]["schedulingPolicy"]["gang"]["minCount"] == Json(3));
}

TEST_CASE("each node has the claims of the gang, and one of its containers uses them", "[gang]") {
    const char* const claims = "{resourceClaims: [{name: shared, resourceClaimTemplateName: t}]}";
    const auto used = [](const Json& pod, std::size_t container) {
        return to_json(pod["containers"][container]["resources"]["claims"]);
    };
    SECTION("which have none of their own") {
        const Json pod = pod_of(built({{policy, claims}}).job_set);
        CHECK(pod["resourceClaims"] == tree("[{name: shared, resourceClaimTemplateName: t}]"));
        CHECK(used(pod, 0) == R"([{"name":"shared"}])");
    }
    SECTION("beside others") {
        const Json pod =
            pod_of(built({{policy, claims}, {POD ".resourceClaims", "[{name: own, resourceClaimName: o}]"}})
                       .job_set);
        CHECK(pod["resourceClaims"] ==
              tree("[{name: own, resourceClaimName: o}, {name: shared, resourceClaimTemplateName: t}]"));
    }
    SECTION("where another container uses them already") {
        const Json pod =
            pod_of(built({{policy, claims},
                          {POD ".containers",
                           "[{name: node, image: i}, {name: side, image: i, resources: "
                           "{claims: [{name: shared}]}}]"},
                          {POD ".resourceClaims", "[{name: shared, resourceClaimTemplateName: t}]"}})
                       .job_set);
        CHECK(used(pod, 0) == "null");
        CHECK(pod["resourceClaims"].items().size() == 1);
    }
    SECTION("but not a job that trains after the gang") {
        const std::string list = "[" + job_of("node", "[]") + ", " +
                                 job_of("later", "[{name: node, status: Complete}]", trains) + "]";
        CHECK_THAT(refusal({{policy, claims}, {jobs, list.c_str()}}),
                   Catch::Contains("no job of the gang trains"));
    }
    SECTION("but not a launcher that is no node") {
        const std::string list = "[" + job_of("node", "[]") + ", " +
                                 job_of("launcher", "[{name: node, status: Ready}]", trains) + "]";
        const Json job_set = built({{policy, claims},
                                    {"spec.mlPolicy", "{numNodes: 2, mpi: {mpiImplementation: OpenMPI}}"},
                                    {jobs, list.c_str()}})
                                 .job_set;
        CHECK(pod_of(job_set, 0).contains("resourceClaims"));
        CHECK_FALSE(pod_of(job_set, 1).contains("resourceClaims"));
    }
}

TEST_CASE("Pods that cannot be in one PodGroup are refused with what differs", "[gang]") {
    const auto two = [](const char* pod) {
        return "[" + job_of("node", "[]", trains) + ", " + job_of("other", "[]", "{}", pod) + "]";
    };
    const std::string priority = two("{priorityClassName: high, containers: [{name: a, image: i}]}");
    struct Case {
        const char* name;
        std::vector<Change> runtime;
        std::vector<Change> job;
        const char* want;
    };
    const Case cases[] = {
        {"another scheduler",
         {{POD ".schedulerName", "mine"}},
         {},
         POD
         ".schedulerName: \"mine\" must be \"default-scheduler\" or unset under podGroupPolicy.kubernetes"},
        {"several priorities",
         {{jobs, priority.c_str()}},
         {},
         "spec.template.spec.replicatedJobs[1].template.spec.template.spec.priorityClassName: \"high\" "
         "differs from \"\" of an earlier job: under podGroupPolicy.kubernetes all jobs of the gang have the "
         "same"},
        {"no Pods",
         {},
         {{"spec.trainer.numNodes", "0"}},
         "spec.trainer.numNodes: must be at least 1: the runtime's podGroupPolicy.kubernetes needs a "
         "PodGroup "
         "of at least one Pod"},
        {"a claim without a source",
         {{policy, "{resourceClaims: [{name: a}]}"}},
         {},
         "spec.podGroupPolicy.kubernetes.resourceClaims[0]: must have exactly one of resourceClaimName and "
         "resourceClaimTemplateName"},
        {"two claims of one name",
         {{policy, "{resourceClaims: [{name: a, resourceClaimName: b}, {name: a, resourceClaimName: c}]}"}},
         {},
         "spec.podGroupPolicy.kubernetes.resourceClaims[1]: has the name of an earlier claim of the gang"},
        {"a claim of Pods that has another source",
         {{policy, "{resourceClaims: [{name: a, resourceClaimName: b}]}"},
          {POD ".resourceClaims", "[{name: a, resourceClaimName: c}]"}},
         {},
         POD ".resourceClaims[0]: \"a\" has another source than the gang's claim of this name, in "
             "spec.podGroupPolicy.kubernetes.resourceClaims"},
        {"claims that no Pod would get",
         {{policy, "{resourceClaims: [{name: a, resourceClaimName: b}]}"},
          {"spec.template.spec.replicatedJobs[0].template.metadata", "{}"}},
         {},
         "spec.podGroupPolicy.kubernetes.resourceClaims: no job of the gang trains (label "
         "trainer.kubeflow.org/trainjob-ancestor-step: trainer), so no Pod would get these claims"},
        {"more claims than a PodGroup has",
         {{policy, "{resourceClaims: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}]}"}},
         {},
         "spec.podGroupPolicy.kubernetes.resourceClaims: must have at most 4 items"},
        {"another policy beside it",
         {{"spec.podGroupPolicy", "{kubernetes: {}, volcano: {}}"}},
         {},
         "spec.podGroupPolicy: kubernetes and volcano exclude each other"},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            CHECK(refusal(c.runtime, c.job) == c.want);
        }
}

TEST_CASE("admission refuses what could not be built as a gang", "[gang]") {
    const auto refused = [](const std::vector<Change>& of_runtime) {
        const Json runtime = changed(gang_runtime("kubernetes"), of_runtime);
        const Json job = train_job();
        const auto result =
            runtime::validate_train_job({.object = job, .old_object = Json(), .runtime = &runtime});
        return result.errors.empty() ? "" : describe(result.errors);
    };
    CHECK(refused({}).empty());
    CHECK_THAT(refused({{POD ".schedulerName", "mine"}}),
               Catch::Contains("must be \"default-scheduler\" or unset"));
    CHECK_THAT(refused({{policy, "{resourceClaims: [{name: a, resourceClaimName: b}]}"},
                        {POD ".resourceClaims", "[{name: a, resourceClaimName: c}]"}}),
               Catch::Contains("has another source than the gang's claim of this name"));
}

TEST_CASE("a runtime whose Pods could not be a gang is refused before any TrainJob", "[gang]") {
    const auto refused = [](const std::vector<Change>& changes) {
        return describe(
            runtime::validate_runtime(changed(gang_runtime("kubernetes"), changes), Json()).errors);
    };
    CHECK(refused({}).empty());
    CHECK_THAT(refused({{POD ".schedulerName", "volcano"}}),
               Catch::StartsWith(POD ".schedulerName: ") &&
                   Catch::Contains("must be \"default-scheduler\" or unset"));
    CHECK_THAT(refused({{policy, "{resourceClaims: [{name: a, resourceClaimName: b}]}"},
                        {POD ".resourceClaims", "[{name: a, resourceClaimName: c}]"}}),
               Catch::Contains("has another source than the gang's claim of this name"));
}

TEST_CASE("the Pods of a gang without a node say why it waits, with its size", "[gang]") {
    const auto plugins = runtime::make_pipeline({});
    const auto at = std::find_if(plugins.begin(), plugins.end(),
                                 [](const auto& each) { return each->name() == "native_gang"; });
    REQUIRE(at != plugins.end());
    const runtime::Plugin* const plugin = at->get();
    std::vector<Json> pods = {
        tree("{metadata: {name: a}, spec: {schedulingGroup: {podGroupName: job}}, status: "
             "{conditions: [{type: PodScheduled, status: 'False', message: mine}]}}"),
        tree("{metadata: {name: b}, spec: {nodeName: n, schedulingGroup: {podGroupName: "
             "job}}}"),
        tree("{metadata: {name: c}, spec: {}}")};
    const auto wanted = plugin->related_objects(pods);
    REQUIRE(wanted);
    CHECK(api_version(wanted->resource) == "scheduling.k8s.io/v1beta1");
    CHECK(wanted->fields == "metadata.name=job");
    const auto said = [&](const char* status) {
        std::vector<Json> seen = pods;
        Json group = tree("{metadata: {name: job}, spec: {schedulingPolicy: {gang: {minCount: 4}}}}");
        group["status"]["conditions"] = tree(status);
        plugin->add_scheduling_problems(seen, {group});
        CHECK(seen[1] == pods[1]);
        CHECK(seen[2] == pods[2]);
        const Json& conditions = seen[0]["status"]["conditions"];
        return std::string(conditions.items().at(0)["message"].as_string());
    };
    CHECK(said("[{type: PodGroupInitiallyScheduled, status: 'False', reason: Unschedulable, message: no "
               "room}]") == "waits as a gang of 4: no room");
    CHECK(said("[{type: PodGroupInitiallyScheduled, status: 'True'}]") == "mine");
    CHECK(said("[]") == "mine");
    CHECK_FALSE(plugin->related_objects({pods[1], pods[2]}));
    // The scheduler does not look at a gang of which Pods have ended.
    std::vector<Json> rest = {
        tree("{metadata: {name: a}, spec: {schedulingGroup: {podGroupName: job}}}"),
        tree("{metadata: {name: b}, spec: {nodeName: n, schedulingGroup: {podGroupName: "
             "job}}, status: {phase: Succeeded}}")};
    const Json of_two = tree("{metadata: {name: job}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}");
    plugin->add_scheduling_problems(rest, {of_two});
    const Json& said_of_rest = rest[0]["status"]["conditions"];
    CHECK(said_of_rest.items().at(0)["message"] ==
          Json("waits as a gang of 2: 1 Pod is there that has not ended"));
    // A restart of all Pods, after which the PodGroup says nothing any more.
    std::vector<Json> restarted = {pods[0]};
    Json placed = tree("{metadata: {name: job}, spec: {schedulingPolicy: {gang: {minCount: 4}}}}");
    placed["status"]["conditions"] = tree("[{type: PodGroupInitiallyScheduled, status: 'True'}]");
    plugin->add_scheduling_problems(restarted, {placed});
    const Json& conditions = restarted[0]["status"]["conditions"];
    CHECK(conditions.items().at(0)["message"] == Json("waits as a gang of 4: mine"));
}
