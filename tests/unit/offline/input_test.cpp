#include "offline/input.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using api::Json;
using api::StatusCause;
using offline::Document;

namespace {

const char* const train_job = R"(apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job}
spec:
  runtimeRef: {name: plain}
  colour: red
)";

std::vector<Document> documents(const std::string& text) {
    return offline::documents_of("job.yaml", text).value();
}

Json with(const Json& object, std::string_view key, Json value) {
    Json changed = object;
    changed["metadata"][key] = std::move(value);
    return changed;
}

}  // namespace

TEST_CASE("objects of our kinds are read in the form that the API server stores", "[offline]") {
    const auto read = documents(train_job);
    const auto input = offline::load_input(read, "team").value();
    REQUIRE(input.known.size() == 1);
    const offline::InputObject& job = input.known.front();
    CHECK(job.is_of_trainer);
    CHECK(job.name() == "TrainJob team/job");
    CHECK(job.object["spec"]["runtimeRef"]["kind"] == "ClusterTrainingRuntime");
    CHECK(job.object["spec"]["managedBy"] == "trainer.kubeflow.org/trainjob-controller");
    CHECK_FALSE(job.object["spec"].contains("colour"));
    CHECK(job.unknown_fields == std::vector<std::string>{"spec.colour"});
    CHECK(job.document->place("spec.colour") == "job.yaml:6");
    CHECK(offline::validate_schema(job.object).empty());
}

TEST_CASE("names and namespaces are those that the objects get in the cluster", "[offline]") {
    struct Case {
        const char* kind;
        const char* metadata;
        const char* name;
    };
    const Case cases[] = {
        {"TrainJob", "{name: a}", "TrainJob team/a"},
        {"TrainJob", "{name: a, namespace: own}", "TrainJob own/a"},
        {"TrainJob", "{generateName: a-}", "TrainJob team/a-xxxxx"},
        {"TrainJob", "{generateName: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
         "TrainJob team/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaxxxxx"},
        {"TrainJob", "{}", "TrainJob team/"},
        {"ClusterTrainingRuntime", "{name: a}", "ClusterTrainingRuntime a"},
        {"ClusterTrainingRuntime", "{name: a, namespace: own}", "ClusterTrainingRuntime a"},
    };
    for (const Case& c : cases) {
        INFO(c.metadata);
        const auto read = documents(std::string("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ") +
                                    c.kind + "\nmetadata: " + c.metadata + "\n");
        CHECK(offline::load_input(read, "team").value().known.front().name() == c.name);
    }
}

TEST_CASE("objects of other kinds are related objects or ignored", "[offline]") {
    const auto read = documents(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n"
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}\n");
    const auto input = offline::load_input(read, "team").value();
    REQUIRE(input.known.size() == 1);
    CHECK_FALSE(input.known.front().is_of_trainer);
    CHECK(input.known.front().object["metadata"]["namespace"] == "team");
    REQUIRE(input.others.size() == 1);
    CHECK(input.others[0]->line() == 3);
}

TEST_CASE("a misspelt kind of ours is an error, not another kind", "[offline]") {
    const std::string known =
        "; there are TrainJob, TrainingRuntime and ClusterTrainingRuntime of trainer.kubeflow.org/v1alpha1";
    const std::pair<const char*, std::string> rows[] = {
        {"apiVersion: trainer.kubeflow.org/v1\nkind: TrainJob",
         "job.yaml:1: no cluster knows the kind \"TrainJob\" of trainer.kubeflow.org/v1"},
        {"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TranJob",
         "job.yaml:2: no cluster knows the kind \"TranJob\" of trainer.kubeflow.org/v1alpha1"},
        {"apiVersion: kubeflow.org/v1alpha1\nkind: TrainingRuntime",
         "job.yaml:1: no cluster knows the kind \"TrainingRuntime\" of kubeflow.org/v1alpha1"},
    };
    for (const auto& [text, message] : rows)
        CHECK(offline::load_input(documents(text + std::string("\nmetadata: {name: a}")), "team")
                  .error()
                  .message == message + known);
}

TEST_CASE("an object that is given twice is refused with both places", "[offline]") {
    const auto read = documents(std::string(train_job) + "---\n" + train_job);
    const auto input = offline::load_input(read, "team");
    REQUIRE(input.has_error());
    CHECK(input.error().message == "job.yaml:8: TrainJob team/job is given a second time, after job.yaml:1");
}

TEST_CASE("errors have the words of the API server", "[offline]") {
    const auto read = documents(train_job);
    const Json job = offline::load_input(read, "team").value().known.front().object;
    const StatusCause one = {"FieldValueInvalid", "spec.a", "Invalid value: 1: too small", "spec.a"};
    const StatusCause other = {"FieldValueRequired", "spec.b", "Required value", "spec.b"};
    CHECK(offline::status_message(job, {one}) ==
          R"(TrainJob.trainer.kubeflow.org "job" is invalid: spec.a: Invalid value: 1: too small)");
    CHECK(offline::status_message(job, {one, other, one}) ==
          R"(TrainJob.trainer.kubeflow.org "job" is invalid: [spec.a: Invalid value: 1: too small, )"
          R"(spec.b: Required value])");
}

TEST_CASE("metadata is validated too", "[offline]") {
    struct Case {
        const char* name;
        const char* member;
        Json value;
        const char* want;  // the beginnings of the messages, but not those of the schema's rules
    };
    const Json long_text = std::string(300, 'a');
    const Case cases[] = {
        {"good labels", "labels", Json::object({{"a.b/c", "D_e.f"}, {"x", ""}}), ""},
        {"good annotations", "annotations", Json::object({{"A.b/C", "any thing"}}), ""},
        {"no name", "name", "", "metadata.name: Required value: name or generateName is required"},
        {"a bad name", "name", "A_b",
         "metadata.name: Invalid value: \"A_b\": a lowercase RFC 1123 subdomain"},
        {"a long name", "name", long_text, "metadata.name: Invalid value: \"aaa"},
        {"a bad label", "labels", Json::object({{"a", "b c"}}),
         "metadata.labels: Invalid value: \"b c\": a valid label must be"},
        {"a long label", "labels", Json::object({{"a", long_text}}), "metadata.labels: Invalid value: \"aaa"},
        {"a bad key", "labels", Json::object({{"a b", "c"}}),
         "metadata.labels: Invalid value: \"a b\": name part must consist of"},
        {"a bad prefix", "labels", Json::object({{"A/b", "c"}}),
         "metadata.labels: Invalid value: \"A/b\": prefix part a lowercase RFC 1123"},
        {"two slashes", "annotations", Json::object({{"a/b/c", "d"}}),
         "metadata.annotations: Invalid value: \"a/b/c\": a qualified name must"},
        {"too much", "annotations", Json::object({{"a", std::string(256 * 1024, 'b')}}),
         "metadata.annotations: Too long: may not be more than 262144 bytes"},
    };
    const auto read = documents(train_job);
    const Json job = offline::load_input(read, "team").value().known.front().object;
    for (const Case& c : cases) {
        INFO(c.name);
        const auto faults = offline::validate_schema(with(job, c.member, c.value));
        CHECK(faults.empty() == std::string_view(c.want).empty());
        if (!faults.empty()) CHECK((faults[0].field + ": " + faults[0].message).find(c.want) == 0);
    }
}

TEST_CASE("errors that prevent rules from running come last", "[offline]") {
    const auto read = documents(train_job);
    Json job = offline::load_input(read, "team").value().known.front().object;
    job["spec"].erase("runtimeRef");
    const auto faults = offline::validate_schema(job);
    REQUIRE(faults.size() == 2);
    CHECK(faults[0].field == "spec.runtimeRef");
    CHECK(faults[1].message.find("Invalid value: null: some validation rules were not checked") == 0);
}

TEST_CASE("a number out of its format has a place although the API server names no field", "[offline]") {
    const auto read = documents(train_job);
    Json job = offline::load_input(read, "team").value().known.front().object;
    job["spec"]["trainer"]["numNodes"] = 4294967296;
    const auto faults = offline::validate_schema(job);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].field == "<nil>");
    CHECK(faults[0].place == "spec.trainer.numNodes");
    CHECK(faults[0].message ==
          "Invalid value: \"\": Checked value must be of type integer with format int32 in "
          "spec.trainer.numNodes");
}
