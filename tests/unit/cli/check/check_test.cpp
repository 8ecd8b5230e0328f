// What `check` prints. That it says what a live API server says,
// tests/cluster/admission/schemas/test_offline_check.py shows.
#include "check/check.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

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
  mlPolicy: {torch: {}}
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
                containers: [{name: node, image: i}]
)";

const std::string job = R"(apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: job
spec:
  runtimeRef:
    name: plain
  trainer:
    numNodes: 2
)";

struct Desk {
    test::TemporaryDirectory directory = {};
    cli::CheckSettings settings = {};

    struct Printed {
        std::string out = {};
        std::string err = {};
        int status = 0;
    };

    Printed check(const std::string& text, const std::string& before = {}) {
        settings.input.files = {directory.write("in.yaml", text)};
        settings.before.clear();
        if (!before.empty()) settings.before = {directory.write("old.yaml", before)};
        auto output = cli::check(settings);
        INFO((output ? "" : output.error().message));
        REQUIRE(output);
        return {directory.bare(output->out.str()), directory.bare(output->err.str()), output->status};
    }
};

}  // namespace

TEST_CASE("what is allowed is said to be", "[check]") {
    Desk desk;
    const auto output = desk.check(job + "---\n" + plain_runtime);
    CHECK(output.out ==
          "in.yaml:1: TrainJob default/job is allowed\n"
          "in.yaml:11: ClusterTrainingRuntime plain is allowed\n");
    CHECK(output.err.empty());
    CHECK(output.status == 0);
}

TEST_CASE("a device that is in no table is named, and a platform's rows are taken", "[check]") {
    Desk desk;
    const std::string text = job + "    resourcesPerNode: {limits: {acme.com/npu: 4}}\n---\n" + plain_runtime;
    CHECK(desk.check(text).out.find(
              "resource \"acme.com/npu\" is in no table of accelerators (--accelerators): set "
              "spec.trainer.numProcPerNode") != std::string::npos);
    REQUIRE(runtime::read_option("acme.com/npu=device", desk.settings.accelerators));
    CHECK(desk.check(text).out.find("acme.com/npu") == std::string::npos);
}

TEST_CASE("findings name the line of their field", "[check]") {
    struct Case {
        const char* name;
        std::string text;
        std::string old;
        const char* want;  // the first line
    };
    const std::string both = job + "---\n" + plain_runtime;
    const Case cases[] = {
        {"the schema", changed(both, "numNodes: 2", "numNodes: two"), "",
         "in.yaml:9: TrainJob default/job is refused: spec.trainer.numNodes: Invalid value: \"string\": "},
        {"a format, where the API server names no field",
         changed(both, "numNodes: 2", "numNodes: 4294967296"), "",
         "in.yaml:9: TrainJob default/job is refused: <nil>: Invalid value: \"\": Checked value "},
        {"a rule of the schema", changed(both, "name: job", "name: 1job"), "",
         "in.yaml:1: TrainJob default/1job is refused: <nil>: Invalid value: metadata.name "},
        {"the webhook", changed(both, "numNodes: 2", "env: [{name: PET_NNODES}]"), "",
         "in.yaml:9: TrainJob default/job is refused: spec.trainer.env: Invalid value: \"PET_NNODES\": "},
        {"a runtime",
         job + "---\n" + changed(plain_runtime, "[{name: node, image: i}]", "[{name: main, image: i}]"), "",
         "in.yaml:1: TrainJob default/job is allowed"},
        {"an unknown field", changed(both, "numNodes", "nodes"), "",
         "in.yaml:9: TrainJob default/job is refused: unknown field \"spec.trainer.nodes\""},
        {"an update", changed(both, "numNodes: 2", "numNodes: 3"), both,
         "in.yaml:9: TrainJob default/job is refused: spec.trainer.numNodes: Invalid value: "},
    };
    for (const Case& c : cases) {
        INFO(c.name);
        Desk desk;
        const auto output = desk.check(c.text, c.old);
        INFO(output.out);
        CHECK(output.out.find(c.want) == 0);
        CHECK(output.status == 1);
    }
}

TEST_CASE("a runtime that is not given does not exist, and the way out is named", "[check]") {
    Desk desk;
    const auto output = desk.check(job);
    CHECK(output.out.find(
              "in.yaml:6: TrainJob default/job is refused: spec.runtimeRef: Invalid value: \"plain\": "
              "ClusterTrainingRuntime not found") == 0);
    CHECK(output.err ==
          "in.yaml:6: hint: ClusterTrainingRuntime \"plain\" is not among the documents: name its "
          "file with -f as well\n");
    CHECK(output.status == 1);
}

TEST_CASE("a runtime of the other kind or in another namespace is named", "[check]") {
    const std::string namespaced =
        "---\n" + changed(plain_runtime, "ClusterTrainingRuntime", "TrainingRuntime");
    Desk desk;
    CHECK(desk.check(job + namespaced).err ==
          "in.yaml:6: hint: there is a TrainingRuntime \"plain\": set spec.runtimeRef.kind to "
          "TrainingRuntime\n");
    CHECK(desk.check(changed(job, "runtimeRef:", "runtimeRef:\n    kind: TrainingRuntime") +
                     changed(namespaced, "metadata:", "metadata:\n  namespace: team"))
              .err ==
          "in.yaml:6: hint: TrainingRuntime team/plain is there, but the TrainJob is in namespace "
          "\"default\"\n");
}

TEST_CASE("the nearest name of a runtime is named", "[check]") {
    Desk desk;
    CHECK(desk.check(changed(job, "name: plain", "name: plan") + "---\n" + plain_runtime).err ==
          "in.yaml:6: hint: did you mean ClusterTrainingRuntime \"plain\"?\n");
}

TEST_CASE("unknown fields are what --validate says", "[check]") {
    const std::string text = changed(job, "numNodes", "nodes") + "---\n" + plain_runtime;
    Desk desk;
    desk.settings.validation = cli::FieldValidation::warn;
    CHECK(desk.check(text).out.find("in.yaml:1: warning: TrainJob default/job: unknown field "
                                    "\"spec.trainer.nodes\"\nin.yaml:1: TrainJob default/job is allowed\n") ==
          0);
    desk.settings.validation = cli::FieldValidation::ignore;
    CHECK(desk.check(text).out.find("in.yaml:1: TrainJob default/job is allowed\n") == 0);
}

TEST_CASE("a runtime may opt out of the webhook as in the cluster", "[check]") {
    const std::string broken = changed(plain_runtime, "[{name: node, image: i}]", "[{name: main}]");
    const std::string out = changed(
        broken, "name: plain", "name: plain\n  labels: {trainer.kubeflow.org/webhook-validation: disabled}");
    Desk desk;
    CHECK(desk.check(broken).status == 1);
    CHECK(desk.check(out).status == 0);
    CHECK(desk.check(out, out).status == 0);
    // An update is reviewed unless it was opted out before, too.
    CHECK(desk.check(out, plain_runtime).status == 1);
}

TEST_CASE("verdicts can be had as JSON", "[check]") {
    Desk desk;
    desk.settings.report = cli::Report::json;
    const auto output =
        desk.check(changed(job, "numNodes: 2", "env: [{name: PET_NNODES}]") + "---\n" + plain_runtime);
    const Json verdicts = api::parse_json(output.out).value();
    REQUIRE(verdicts.items().size() == 2);
    CHECK(
        to_json(verdicts[0]["causes"]) ==
        R"([{"field":"spec.trainer.env","line":9,"message":"Invalid value: \"PET_NNODES\": must not be set: the )"
        R"(Torch runtime sets these variables","reason":"FieldValueInvalid"}])");
    CHECK(verdicts[0]["allowed"] == false);
    CHECK(verdicts[0]["code"] == 422);
    CHECK(verdicts[0]["message"].as_string().find(
              "TrainJob.trainer.kubeflow.org \"job\" is invalid: spec.") == 0);
    CHECK(verdicts[1]["allowed"] == true);
    CHECK(verdicts[1]["line"] == 11);
    CHECK_FALSE(verdicts[1].contains("causes"));
}

TEST_CASE("a summary has a line for each object, with as many errors as the text has lines, and says why",
          "[check]") {
    const std::string extra = "---\n" + changed(plain_runtime, "name: plain", "name: other");
    const std::string two_faults = changed(job, "numNodes: 2", "nodes: 2\n    images: i");
    struct Case {
        const char* name;
        std::string text;
        const char* want;
        int status;
    };
    const Case cases[] = {
        {"all allowed", job + "---\n" + plain_runtime,
         "in.yaml:1: TrainJob default/job is allowed: 0 errors, 0 warnings\n"
         "in.yaml:11: ClusterTrainingRuntime plain is allowed: 0 errors, 0 warnings\n"
         "2 objects: 2 allowed, 0 of them with warnings, 0 refused; 0 errors, 0 warnings\n",
         0},
        {"one cause",
         changed(job, "numNodes: 2", "env: [{name: PET_NNODES}]") + "---\n" + plain_runtime + extra,
         "in.yaml:1: TrainJob default/job is refused: 1 error, 0 warnings; spec.trainer.env: Invalid "
         "value: \"PET_NNODES\": must not be set: the Torch runtime sets these variables\n"
         "in.yaml:11: ClusterTrainingRuntime plain is allowed: 0 errors, 0 warnings\n"
         "in.yaml:29: ClusterTrainingRuntime other is allowed: 0 errors, 0 warnings\n"
         "3 objects: 2 allowed, 0 of them with warnings, 1 refused; 1 error, 0 warnings\n",
         1},
        {"unknown fields", two_faults,
         "in.yaml:1: TrainJob default/job is refused: 2 errors, 0 warnings; unknown field "
         "\"spec.trainer.images\"\n"
         "1 object: 0 allowed, 0 of them with warnings, 1 refused; 2 errors, 0 warnings\n",
         1},
    };
    for (const Case& c : cases) {
        INFO(c.name);
        Desk desk;
        desk.settings.report = cli::Report::summary;
        const auto output = desk.check(c.text);
        CHECK(output.out == c.want);
        CHECK(output.status == c.status);
    }
    Desk desk;
    CHECK(std::ranges::count(desk.check(two_faults).out, '\n') == 2);
    desk.settings.report = cli::Report::summary;
    desk.settings.validation = cli::FieldValidation::warn;
    const std::string warned = desk.check(two_faults + "---\n" + plain_runtime).out;
    CHECK_THAT(warned, Catch::Contains("TrainJob default/job is allowed: 0 errors, 2 warnings\n"));
    CHECK_THAT(warned, Catch::Contains("2 allowed, 1 of them with warnings, 0 refused"));
}

TEST_CASE("other kinds are related objects or passed over", "[check]") {
    Desk desk;
    const auto output = desk.check(job + "---\n" + plain_runtime +
                                   "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
                                   "---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}\n");
    CHECK(output.status == 0);
    CHECK(output.err == "in.yaml:31: note: Deployment is passed over: no verdict depends on it\n");
    desk.settings.input.files = {
        desk.directory.write("in.yaml", "{apiVersion: v1, kind: Secret, metadata: {name: a}}")};
    CHECK(cli::check(desk.settings).has_error());
}
