// YuniKorn: labels and annotations of Pods. gang_test.cpp has the Pods and requests of gangs.
#include "gang_objects.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

#define NODE "spec.template.spec.replicatedJobs[0].template.spec.template.spec"
const char* const task_groups = "yunikorn.apache.org/task-groups";

Json job_set_of(const Json& runtime) {
    const auto built = build_gang(runtime);
    if (!built) FAIL(built.error());
    REQUIRE(built->objects.size() == 1);  // no PodGroup
    return built->objects.back().object;
}

const Json& metadata_of(const Json& job_set, std::size_t job) {
    return job_set["spec"]["replicatedJobs"][job]["template"]["spec"]["template"]["metadata"];
}

std::string application_of(const Json& job_set, std::size_t job) {
    return std::string(metadata_of(job_set, job)["labels"]["yunikorn.apache.org/app-id"].as_string());
}

Json groups_of(const Json& job_set, std::size_t job) {
    return tree(std::string(metadata_of(job_set, job)["annotations"][task_groups].as_string()).c_str());
}

// "a:1 node:2": the task groups with their Pods.
std::string members_of(const Json& job_set, std::size_t job) {
    std::string text;
    const Json groups = groups_of(job_set, job);
    for (const Json& group : groups.items())
        text += (text.empty() ? "" : " ") + std::string(group["name"].as_string()) + ":" +
                std::to_string(group["minMember"].int_or(0));
    return text;
}

std::string refusal_of(const Json& runtime) {
    const auto built = build_gang(runtime);
    return built ? "" : describe(built.error());
}

}  // namespace

TEST_CASE("labels and annotations make an application of the Pods, with room for each", "[gang]") {
    const Json runtime = with_pod(
        "yunikorn",
        "{nodeSelector: {zone: a}, tolerations: [{key: gpu, operator: Exists}], affinity: {nodeAffinity: "
        "{}}, "
        "topologySpreadConstraints: [{maxSkew: 1, topologyKey: k, whenUnsatisfiable: DoNotSchedule}], "
        "containers: [{name: node, image: i, resources: {requests: {cpu: 500m}, limits: {nvidia.com/gpu: "
        "8}}}]}");
    const Json job_set = job_set_of(runtime);
    const Json& metadata = metadata_of(job_set, 0);
    CHECK(metadata["labels"] == tree("{yunikorn.apache.org/app-id: job-job-uid}"));
    CHECK(metadata["annotations"]["yunikorn.apache.org/task-group-name"] == Json("node"));
    CHECK_FALSE(metadata["annotations"].contains("yunikorn.apache.org/schedulingPolicyParameters"));
    CHECK(job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["schedulerName"] ==
          Json("yunikorn"));
    CHECK(groups_of(job_set, 0) ==
          tree("[{name: node, minMember: 2, minResource: {cpu: 500m, nvidia.com/gpu: '8'}, nodeSelector: "
               "{zone: a}, tolerations: [{key: gpu, operator: Exists}], affinity: {nodeAffinity: {}}, "
               "topologySpreadConstraints: [{maxSkew: 1, topologyKey: k, whenUnsatisfiable: "
               "DoNotSchedule}]}]"));
}

TEST_CASE("the settings of YuniKorn are labels and parameters of the Pods", "[gang]") {
    struct Case {
        const char* name;
        std::vector<Change> changes;
        const char* queue;
        const char* parameters;
    };
    const char* const annotation = "spec.template.metadata.annotations.\"yunikorn.apache.org/queue\"";
    const char* const policy = "spec.podGroupPolicy.yunikorn";
    const Case cases[] = {
        {"nothing", {}, "", ""},
        {"a queue", {{policy, "{queue: root.a}"}}, "root.a", ""},
        {"a queue of the JobSet", {{policy, "{queue: root.a}"}, {annotation, "root.b"}}, "root.b", ""},
        {"a time", {{policy, "{placeholderTimeoutSeconds: 60}"}}, "", "placeholderTimeoutInSeconds=60"},
        {"a style", {{policy, "{gangSchedulingStyle: Hard}"}}, "", "gangSchedulingStyle=Hard"},
        {"both",
         {{policy, "{gangSchedulingStyle: Soft, placeholderTimeoutSeconds: 5}"}},
         "",
         "placeholderTimeoutInSeconds=5 gangSchedulingStyle=Soft"},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            const Json job_set = job_set_of(changed(gang_runtime("yunikorn"), c.changes));
            const Json& metadata = metadata_of(job_set, 0);
            CHECK(metadata["labels"]["yunikorn.apache.org/queue"].as_string() == c.queue);
            CHECK(metadata["annotations"]["yunikorn.apache.org/schedulingPolicyParameters"].as_string() ==
                  c.parameters);
        }
}

TEST_CASE("jobs before the nodes are applications of their own, and those that follow have room beside them",
          "[gang]") {
#define POD "template: {spec: {template: {spec: {containers: [{name: node, image: i}]}}}}"
    const Json job_set = job_set_of(
        changed(gang_runtime("yunikorn"),
                {{"spec.template.spec.replicatedJobs",
                  "[{name: data, " POD "}, {name: model, replicas: 3, " POD
                  "}, {name: node, dependsOn: [{name: data, status: Complete}, {name: model, status: "
                  "Complete}], template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: "
                  "trainer}}, spec: {template: {spec: {containers: [{name: node, image: i}]}}}}}, {name: "
                  "launcher, dependsOn: [{name: node, status: Ready}], " POD "}]"}}));
#undef POD
    CHECK(application_of(job_set, 0) == "job-job-uid-1");
    CHECK(application_of(job_set, 1) == "job-job-uid-1");
    CHECK(application_of(job_set, 2) == "job-job-uid");
    CHECK(application_of(job_set, 3) == "job-job-uid");
    CHECK(members_of(job_set, 0) == "data:1 model:3");
    CHECK(members_of(job_set, 1) == "data:1 model:3");
    CHECK(members_of(job_set, 2) == "node:2 launcher:1");
    CHECK(members_of(job_set, 3) == "node:2 launcher:1");
}

TEST_CASE("the name of an application fits into a label and is unique to the TrainJob and its resume",
          "[gang]") {
    const std::string uid = "0a1b2c3d-0000-4000-8000-000000000000";
    const Json runtime = gang_runtime("yunikorn");
    const auto application = [&](std::vector<Change> changes) {
        const api::TrainJob job = api::parse_train_job(changed(train_job(), changes));
        const auto built = runtime::build({.job = job, .runtime = runtime});
        REQUIRE(built);
        return application_of(built->objects.back().object, 0);
    };
    const std::string name(54, 'n');
    const std::string long_one =
        application({{"metadata.name", name.c_str()}, {"metadata.uid", uid.c_str()}});
    CHECK(long_one == std::string(26, 'n') + "-" + uid);
    const auto at = [&](const char* status, const char* second) {
        return application(
            {{"metadata.name", name.c_str()},
             {"metadata.uid", uid.c_str()},
             {"status.conditions",
              ("[{type: Suspended, status: '" + std::string(status) +
               "', reason: R, message: '', lastTransitionTime: '2026-01-01T00:00:" + second + "Z'}]")
                  .c_str()}});
    };
    CHECK(at("True", "01") == long_one);
    CHECK(at("False", "01") == std::string(17, 'n') + "-" + uid + "-6955b901");
    CHECK(at("False", "02") == std::string(17, 'n') + "-" + uid + "-6955b902");
    CHECK(application({{"metadata.name", "a"}, {"metadata.uid", "-"}}) == "a-ns");  // rendered offline
}

TEST_CASE("a job without Pods has no task group", "[gang]") {
    const Json job_set = job_set_of(changed(
        gang_runtime("yunikorn"),
        {{"spec.template.spec.replicatedJobs[1]",
          "{name: none, replicas: 0, template: {spec: {template: {spec: {containers: [{name: a, image: "
          "i}]}}}}}"}}));
    CHECK(members_of(job_set, 0) == "node:2");
}

TEST_CASE("what YuniKorn cannot schedule as a gang is an error with the field", "[gang]") {
    CHECK(refusal_of(changed(gang_runtime("yunikorn"), {{"spec.podGroupPolicy.volcano", "{}"}})) ==
          "spec.podGroupPolicy: volcano and yunikorn exclude each other");
    CHECK(
        refusal_of(changed(gang_runtime("yunikorn"), {{"spec.podGroupPolicy.yunikorn.queue", "'root:a'"}})) ==
        "spec.podGroupPolicy.yunikorn.queue: must be 1 to 63 letters, digits, '-', '_' and '.', with a "
        "letter "
        "or digit at both ends");
    CHECK(refusal_of(changed(gang_runtime("yunikorn"), {{NODE ".schedulerName", "volcano"}})) == NODE
          ".schedulerName: \"volcano\" must be \"yunikorn\" or unset under podGroupPolicy.yunikorn");
    CHECK(refusal_of(changed(gang_runtime("yunikorn"), {{NODE ".schedulerName", "yunikorn"}})).empty());
    CHECK(refusal_of(with_classes("yunikorn", "priorityClassName", 2)) ==
          "spec.template.spec.replicatedJobs[1].template.spec.template.spec.priorityClassName: \"class-1\" "
          "differs from \"class-0\" of an earlier job: under YuniKorn all have the same");
}

TEST_CASE("task groups are bounded, since every Pod repeats them", "[gang]") {
    CHECK(refusal_of(with_classes("yunikorn", "hostname", 32)).empty());
    CHECK(refusal_of(with_classes("yunikorn", "hostname", 33)) ==
          "spec.template.spec.replicatedJobs: has at most 32 jobs under podGroupPolicy.yunikorn");
    const auto selected = [](std::size_t bytes) {
        const std::string selector = "{a: " + std::string(bytes, 'b') + "}";
        return changed(gang_runtime("yunikorn"), {{NODE ".nodeSelector", selector.c_str()}});
    };
    CHECK(refusal_of(selected(60'000)).empty());
    CHECK(refusal_of(selected(70'000))
              .starts_with("spec.template.spec.replicatedJobs[0]: its Pods and those that start with it have "
                           "tolerations, affinities and node selectors of more than 65536 bytes"));
}

TEST_CASE("a TrainJob is denied what YuniKorn would not schedule", "[gang]") {
    struct Case {
        const char* name;
        std::vector<Change> runtime;
        const char* want;
    };
    const Case cases[] = {
        {"all is well", {{"spec.podGroupPolicy.yunikorn.queue", "root.a"}}, ""},
        {"an empty queue",
         {{"spec.template.metadata.annotations.\"yunikorn.apache.org/queue\"", "''"}},
         "the annotation yunikorn.apache.org/queue of the JobSet must be 1 to 63 letters, digits, '-', '_' "
         "and '.', with a letter or digit at both ends"},
        {"another scheduler",
         {{NODE ".schedulerName", "default"}},
         NODE ".schedulerName \"default\" must be \"yunikorn\" or unset under podGroupPolicy.yunikorn"},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            const Json runtime = changed(gang_runtime("yunikorn"), c.runtime);
            const auto findings = runtime::validate_train_job({.object = train_job(), .runtime = &runtime});
            std::string details;
            for (const api::FieldError& error : findings.errors)
                if (error.rule == "yunikorn") details += error.detail;
            CHECK(details == c.want);
        }
}
