#include "runtime/snapshot.hpp"

#include "api/train_job.hpp"
#include "fixtures.hpp"
#include "runtime/build.hpp"

using api::Json;

namespace {

const char* const stored = "data.runtime";

api::TrainJob job() { return api::parse_train_job(train_job()); }

}  // namespace

TEST_CASE("a snapshot is the whole runtime, immutable and owned by the TrainJob", "[runtime]") {
    const Json runtime = changed(plain_runtime(), {{"metadata.managedFields", "[{manager: x}]"},
                                                   {"metadata.labels", "{a: b}"},
                                                   {"metadata.resourceVersion", "\"7\""}});
    const Json config_map = runtime::make_snapshot(job(), runtime);
    CHECK(config_map["apiVersion"] == "v1");
    CHECK(config_map["kind"] == "ConfigMap");
    CHECK(config_map["immutable"] == true);
    CHECK(config_map["metadata"] == tree(R"({name: job-runtime-snapshot, namespace: ns, ownerReferences: [{
        apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: job, uid: job-uid, controller: true,
        blockOwnerDeletion: true}]})"));
    CHECK(config_map["data"].members().size() == 1);
    CHECK_THAT(
        std::string(config_map["data"]["runtime"].as_string()),
        Catch::StartsWith("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\n"));
    CHECK(runtime::read_snapshot(config_map, job()).value() ==
          changed(runtime, {{"metadata.managedFields", "-"}}));
}

TEST_CASE("a runtime from a list, without kind and apiVersion, can be stored", "[runtime]") {
    const Json runtime = changed(plain_runtime(), {{"apiVersion", "-"}, {"kind", "-"}});
    CHECK(runtime::read_snapshot(runtime::make_snapshot(job(), runtime), job()).value() == plain_runtime());
}

TEST_CASE("a large snapshot is JSON, which is read in a hundredth of the time", "[runtime]") {
    Json large = plain_runtime();
    for (int i = 0; i < 2'000; ++i)
        large["metadata"]["annotations"]["example.com/" + std::to_string(i)] = std::string(30, 'a');
    const Json config_map = runtime::make_snapshot(job(), large);
    CHECK(config_map["data"]["runtime"].as_string().front() == '{');
    CHECK(runtime::read_snapshot(config_map, job()).value() == large);
}

TEST_CASE("a snapshot is read as YAML and as JSON", "[runtime]") {
    Json config_map = runtime::make_snapshot(job(), plain_runtime());
    at(config_map, stored) = to_json(plain_runtime());
    CHECK(runtime::read_snapshot(config_map, job()).value() == plain_runtime());
    at(config_map, stored) =
        "kind: ClusterTrainingRuntime\napiVersion: trainer.kubeflow.org/v1alpha1\n"
        "metadata:\n  name: runtime\n  labels:\n    quoted: \"1\"\n    plain: 1\n";
    const Json read = runtime::read_snapshot(config_map, job()).value();
    CHECK(read["metadata"]["labels"]["quoted"] == "1");
    CHECK(read["metadata"]["labels"]["plain"] == 1);
}

TEST_CASE("a snapshot with any error is refused", "[runtime]") {
    struct Case {
        const char* name;
        const char* path;
        Json value;
        api::Errc want;
    };
    const auto other = [](const char* path, const char* value) {
        return Json(to_json(changed(plain_runtime(), {{path, value}})));
    };
    const Case cases[] = {
        {"another owner", "metadata.ownerReferences[0].uid", "other", api::Errc::conflict},
        {"an owner that is no controller", "metadata.ownerReferences[0].controller", false,
         api::Errc::conflict},
        {"no owner", "metadata.ownerReferences", Json(), api::Errc::conflict},
        {"no data", "data", Json(), api::Errc::invalid},
        {"another key", "data", Json::object({{"other", "{}"}}), api::Errc::invalid},
        {"no text", stored, 7, api::Errc::invalid},
        {"broken YAML", stored, "kind: [", api::Errc::invalid},
        {"no object", stored, "[]", api::Errc::invalid},
        {"nothing", stored, "", api::Errc::invalid},
        {"jobs that are no list", stored, other("spec.template.spec.replicatedJobs", "7"),
         api::Errc::invalid},
        {"another name", stored, other("metadata.name", "other"), api::Errc::invalid},
        {"another kind", stored, other("kind", "TrainingRuntime"), api::Errc::invalid},
        {"another group", stored, other("apiVersion", "other.io/v1alpha1"), api::Errc::invalid},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            Json config_map = runtime::make_snapshot(job(), plain_runtime());
            at(config_map, c.path) = c.value;
            const auto read = runtime::read_snapshot(config_map, job());
            REQUIRE_FALSE(read);
            CHECK(read.error().code == c.want);
            CHECK(read.error().message.find("job-runtime-snapshot") != std::string::npos);
        }
    }
}

TEST_CASE("a snapshot that would need much memory is refused before it is read", "[runtime]") {
    const auto repeated = [](std::string_view text) {
        std::string whole;
        while (whole.size() < 250'000) whole += text;
        return whole;
    };
    const std::string hostile[] = {"a: " + repeated("["),     "a: " + repeated("{"),
                                   "a: [" + repeated("a,"),   "a: [" + repeated("''"),
                                   "a: [" + repeated("&a ["), "a: [" + repeated("? ")};
    for (const std::string& text : hostile) {
        CAPTURE(text.substr(0, 10));
        Json config_map = runtime::make_snapshot(job(), plain_runtime());
        at(config_map, stored) = text;
        const auto read = runtime::read_snapshot(config_map, job());
        REQUIRE_FALSE(read);
        CHECK_THAT(read.error().message, Catch::Contains("YAML tokens"));
    }
    // Text that begins like JSON is not parsed as YAML.
    Json config_map = runtime::make_snapshot(job(), plain_runtime());
    at(config_map, stored) = "{a: b}";
    CHECK_THAT(runtime::read_snapshot(config_map, job()).error().message, Catch::Contains("JSON"));
}

TEST_CASE("a snapshot larger than any runtime is refused before it is read", "[runtime]") {
    const auto text_of = [](const char* shape, std::size_t bytes) {
        std::string runtime = api::to_yaml(plain_runtime()) + "x:\n";
        while (runtime.size() < bytes) runtime += shape;
        return runtime;
    };
    std::string json = to_json(plain_runtime());
    json.back() = ',';
    json += "\"x\":[[0]";
    for (std::size_t i = 0; i < runtime::max_runtime_values / 2; ++i) json += ",[0]";
    const std::pair<std::string, const char*> cases[] = {
        {text_of("# a comment that costs nothing to read\n", 300'000), "is longer than 262144 bytes"},
        {text_of("- - - a\n", 200'000), "YAML tokens"},
        {json + "]}", "and a runtime may hold 200000"}};
    for (const auto& [text, want] : cases) {
        CAPTURE(want);
        Json config_map = runtime::make_snapshot(job(), plain_runtime());
        at(config_map, stored) = text;
        const auto read = runtime::read_snapshot(config_map, job());
        REQUIRE_FALSE(read);
        CHECK_THAT(read.error().message, Catch::Contains(want));
    }
}

TEST_CASE("only fields of runtimes are read from a snapshot", "[runtime]") {
    const Json runtime = changed(plain_runtime(), {{"spec.ttlSecondsAfterFinished", "60"},
                                                   {"spec.runPolicy", "{activeDeadlineSeconds: 60}"},
                                                   {"spec.podGroupPolicy", "{}"}});
    Json config_map = runtime::make_snapshot(
        job(), changed(runtime, {{"x", "[[0], [0]]"}, {"spec.x", "[[0], [0]]"}, {"status", "{}"}}));
    CHECK(runtime::read_snapshot(config_map, job()).value() == runtime);
    at(config_map, stored) = api::to_yaml(changed(runtime, {{"spec.y", "{a: b}"}}));
    CHECK(runtime::read_snapshot(config_map, job()).value() == runtime);
}

TEST_CASE("the digest of a runtime is of what TrainJobs are built from", "[runtime]") {
    const std::string text = runtime::digested_text(plain_runtime());
    const auto digested = [](const Json& runtime) {
        const Json config_map = runtime::make_snapshot(job(), runtime);
        return runtime::digested_text(runtime::read_snapshot(config_map, job()).value());
    };
    CHECK(digested(plain_runtime()) == text);
    Json yaml = runtime::make_snapshot(job(), plain_runtime());
    at(yaml, stored) = api::to_yaml(plain_runtime());
    CHECK(runtime::digested_text(runtime::read_snapshot(yaml, job()).value()) == text);
    // A runtime that was deleted and made again is the same one.
    CHECK(digested(changed(plain_runtime(), {{"metadata.uid", "u"},
                                             {"metadata.resourceVersion", "\"7\""},
                                             {"metadata.annotations", "{a: b}"},
                                             {"metadata.managedFields", "[{manager: x}]"}})) == text);
    for (const char* field :
         {"mlPolicy", "podGroupPolicy", "runPolicy", "ttlSecondsAfterFinished", "template"}) {
        INFO(field);
        const Json other = changed(plain_runtime(), {{("spec." + std::string(field)).c_str(), "{other: 1}"}});
        CHECK(runtime::digested_text(other) != text);
        CHECK(api::parse_json(runtime::digested_text(other)).value() == other["spec"]);
    }
    CHECK(runtime::digested_text(Json()) == "{}");
    CHECK(runtime::digested_text(tree("{spec: [1]}")) == "{}");
}

TEST_CASE("a large snapshot of the original is read, scripts included", "[runtime]") {
    Json runtime = plain_runtime();
    Json& container =
        at(runtime, "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]");
    std::string script;
    while (script.size() < 100'000)
        script += "if [ \"$RANK\" = 0 ]; then echo 'first'; fi  # of all: [{,}]\n";
    container["args"] = Json::array({script});
    for (int i = 0; i < 800; ++i)
        container["env"].push_back(
            Json::object({{"name", "NAME_" + std::to_string(i)}, {"value", "a: [b]"}}));
    Json config_map = runtime::make_snapshot(job(), runtime);
    at(config_map, stored) = api::to_yaml(runtime);
    CHECK(runtime::read_snapshot(config_map, job()).value() == runtime);
}

TEST_CASE("another version of the runtime's API is accepted", "[runtime]") {
    Json config_map =
        runtime::make_snapshot(job(), changed(plain_runtime(), {{"apiVersion", "trainer.kubeflow.org/v1"}}));
    CHECK(runtime::read_snapshot(config_map, job()).has_value());
}
