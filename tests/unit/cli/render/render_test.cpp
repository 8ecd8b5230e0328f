// The output of `render`. tests/cluster/lifecycle/test_offline_render.py compares it with a live cluster.
#include "render/render.hpp"

#include <catch2/catch.hpp>

#include "api/yaml.hpp"
#include "changed.hpp"
#include "support/printers.hpp"
#include "support/temporary_directory.hpp"

using api::Json;
using test::changed;

namespace {

const std::string plain_runtime = R"(apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: plain
spec:
  mlPolicy: {numNodes: 2}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata:
            labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}
          spec:
            template:
              spec:
                containers: [{name: node, image: old}]
)";

const std::string job = R"(apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: job
spec:
  runtimeRef:
    name: plain
)";

struct Printed {
    std::string out = {};
    std::string err = {};
    int status = 0;
};

struct Fixture {
    Printed render(const std::string& text) {
        settings.input.files = {directory.write("in.yaml", text)};
        auto output = cli::render(settings);
        INFO((output ? "" : output.error().message));
        REQUIRE(output);
        return {output->out.str(), directory.bare(output->err.str()), output->status};
    }
    std::string failure(const std::string& text) {
        settings.input.files = {directory.write("in.yaml", text)};
        const auto output = cli::render(settings);
        REQUIRE(output.has_error());
        return output.error().message;
    }

    test::TemporaryDirectory directory = {};
    cli::RenderSettings settings = {};
};

std::vector<Json> objects(const Printed& output) { return api::parse_yaml_documents(output.out).value(); }

std::string kinds(const std::vector<Json>& list) {
    std::string text;
    for (const Json& object : list) text += std::string(object["kind"].as_string()) + " ";
    return text;
}

}  // namespace

TEST_CASE("the objects of a TrainJob are printed in the order in which they are applied", "[render]") {
    Fixture fixture;
    const auto output = fixture.render(plain_runtime + "---\n" + job);
    CHECK(output.status == 0);
    CHECK(output.err.empty());
    const auto list = objects(output);
    REQUIRE(kinds(list) == "ConfigMap JobSet ");
    CHECK(list[0]["metadata"]["name"] == "job-runtime-snapshot");
    const Json& job_set = list[1];
    CHECK(job_set["metadata"]["name"] == "job");
    CHECK(job_set["metadata"]["namespace"] == "default");
    CHECK(job_set["metadata"]["ownerReferences"][0]["uid"] == "00000000-0000-0000-0000-000000000000");
    // No parts that only a request has.
    CHECK_FALSE(job_set["metadata"].contains("resourceVersion"));
    CHECK(job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 2);
    CHECK(fixture.render(plain_runtime + "---\n" + job).out == output.out);
}

TEST_CASE("an object with a UID keeps it, and objects that are not needed are not printed", "[render]") {
    Fixture fixture;
    const std::string live =
        changed(job, "name: job\n",
                "name: job\n  uid: abc\n  resourceVersion: '17'\n  creationTimestamp: 2001-01-01T00:00:00Z\n"
                "  deletionTimestamp: 2001-01-01T00:00:00Z\n") +
        "  activeDeadlineSeconds: 5\nstatus:\n  conditions: [{type: Complete, status: 'True', reason: Done, "
        "message: m, lastTransitionTime: 2001-01-01T00:00:00Z}]\n";
    const auto output = fixture.render(plain_runtime + "---\n" + live);
    INFO(output.err);
    const auto list = objects(output);
    REQUIRE(kinds(list) == "ConfigMap JobSet ");
    CHECK(list[1]["metadata"]["ownerReferences"][0]["uid"] == "abc");
}

TEST_CASE("devices are those of the table, and of a platform's rows", "[render]") {
    Fixture fixture;
    const std::string runtime = changed(plain_runtime, "mlPolicy: {numNodes: 2}", "mlPolicy: {xgboost: {}}");
    const auto workers = [&](const std::string& limits) {
        const auto output =
            fixture.render(runtime + "---\n" + job +
                           "  trainer:\n    numNodes: 2\n    resourcesPerNode: {limits: {" + limits + "}}\n");
        const auto made = objects(output);
        const Json& job_of_node = made[1]["spec"]["replicatedJobs"].items().at(0);
        const Json& pod = job_of_node["template"]["spec"]["template"]["spec"];
        std::string text;
        for (const Json& variable : pod["containers"].items().at(0)["env"].items())
            if (variable["name"] == "DMLC_NUM_WORKER") text = variable["value"].as_string();
        return text + output.err;
    };
    // Two nodes, one virtual device each.
    CHECK(workers("volcano.sh/vgpu-number: 1, volcano.sh/vgpu-cores: 50, volcano.sh/vgpu-memory: 3000") ==
          "2");
    CHECK(workers("acme.com/npu: 4") ==
          "2in.yaml:19: warning: TrainJob default/job: GPUCountUnknown: devices of a Pod cannot be counted: "
          "resource "
          "\"acme.com/npu\" is "
          "in no table of accelerators (--accelerators)\n");
    REQUIRE(runtime::read_option("acme.com/npu=device", fixture.settings.build.accelerators));
    CHECK(workers("acme.com/npu: 4") == "8");
}

TEST_CASE("JSON is one list", "[render]") {
    Fixture fixture;
    fixture.settings.format = cli::Format::json;
    const Json list = api::parse_json(fixture.render(plain_runtime + "---\n" + job).out).value();
    CHECK(list["kind"] == "List");
    CHECK(kinds(list["items"].items()) == "ConfigMap JobSet ");
}

TEST_CASE("values of Secrets are masked, and the output is the same every time", "[render]") {
    Fixture fixture;
    const std::string mpi = changed(plain_runtime, "{numNodes: 2}", "{numNodes: 2, mpi: {}}");
    const auto output = fixture.render(mpi + "---\n" + job);
    INFO(output.err);
    const auto list = objects(output);
    REQUIRE(kinds(list) == "ConfigMap Secret ConfigMap JobSet ");
    for (const auto& [key, value] : list[1]["data"].members()) CHECK(value == "***");
    CHECK(list[1]["data"].members().size() == 2);
    CHECK(fixture.render(mpi + "---\n" + job).out == output.out);
}

TEST_CASE("an object that cannot be built is an error with its place, and nothing is printed", "[render]") {
    struct Case {
        const char* name;
        std::string text;
        const char* want;
    };
    const Case cases[] = {
        {"no runtime", job,
         "in.yaml:6: TrainJob default/job would not be built: spec.runtimeRef: ClusterTrainingRuntime "
         "\"plain\" does "
         "not exist; create it, and this TrainJob goes on; its file is missing among those of -f\n"},
        {"an unknown job",
         plain_runtime + "---\n" + job +
             "  runtimePatches:\n  - manager: a.b/c\n    trainingRuntimeSpec: {template: {spec: "
             "{replicatedJobs: "
             "[{name: other}]}}}\n",
         "in.yaml:28: TrainJob default/job would not be built: spec.runtimePatches[0]"},
        {"the schema", plain_runtime + "---\n" + changed(job, "name: plain", "name: ''"),
         "in.yaml:25: TrainJob default/job would not be stored: spec.runtimeRef.name: Invalid value: "},
        {"another runtime's kind",
         plain_runtime + "---\n" + changed(job, "name: plain", "kind: Other\n    name: plain"),
         "in.yaml:19: TrainJob default/job would not be built: "},
        {"another owner's JobSet",
         plain_runtime + "---\n" + job +
             "---\n{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: job}}\n",
         "in.yaml:19: TrainJob default/job would not be built: "},
    };
    for (const Case& c : cases) {
        INFO(c.name);
        Fixture fixture;
        const auto output = fixture.render(c.text);
        INFO(output.err);
        CHECK(output.err.find(c.want) == 0);
        CHECK(output.out.empty());
        CHECK(output.status == 1);
    }
}

TEST_CASE("notes for users are printed to standard error", "[render]") {
    Fixture fixture;
    const auto others =
        fixture.render(plain_runtime + "---\n" + job + "  managedBy: kueue.x-k8s.io/multikueue\n");
    CHECK(others.err ==
          "in.yaml:26: note: TrainJob default/job is managed by another controller: nothing is applied\n");
    CHECK(others.out.empty());
    CHECK(others.status == 0);
    const auto unknown = fixture.render(plain_runtime + "---\n" + job + "  colour: red\n---\n" +
                                        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}\n");
    CHECK(unknown.err ==
          "in.yaml:28: note: Deployment is passed over: no TrainJob depends on it\n"
          "in.yaml:26: warning: TrainJob default/job: unknown field \"spec.colour\" is dropped\n");
    CHECK(unknown.status == 0);
    CHECK(fixture.failure(plain_runtime).find("no TrainJob") != std::string::npos);
}

TEST_CASE("another version of a runtime is compared object by object", "[render]") {
    Fixture fixture;
    fixture.settings.other_version = {
        fixture.directory.write("new.yaml", changed(plain_runtime, "image: old", "image: new"))};
    const auto output = fixture.render(plain_runtime + "---\n" + job);
    INFO(output.out);
    CHECK(output.status == 0);
    CHECK(output.out.find("--- JobSet default/job (-f)\n+++ JobSet default/job (--diff)\n@@ ") == 0);
    CHECK(output.out.find("\n-            - image: old\n+            - image: new\n") != std::string::npos);
    CHECK(output.out.find("ConfigMap") == std::string::npos);

    fixture.directory.write("new.yaml", plain_runtime);
    CHECK(fixture.render(plain_runtime + "---\n" + job).out.empty());
    fixture.directory.write("new.yaml", changed(plain_runtime, "{numNodes: 2}", "{numNodes: 2, mpi: {}}"));
    const auto mpi = fixture.render(plain_runtime + "---\n" + job);
    INFO(mpi.out);
    CHECK(mpi.out.find("--- /dev/null\n+++ Secret default/job-mpi-ssh-auth (--diff)\n") != std::string::npos);

    fixture.directory.write("new.yaml", changed(plain_runtime, "name: plain", "name: other"));
    CHECK(fixture.failure(plain_runtime + "---\n" + job)
              .find("ClusterTrainingRuntime other is not among them") != std::string::npos);
    fixture.settings.format = cli::Format::json;
    CHECK(fixture.failure(plain_runtime + "---\n" + job).find("--diff") != std::string::npos);
}
