// Which fields of a TrainJob no job of its runtime takes: what admission says of them, and what is built.
#include "build/taken_fields.hpp"

#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

constexpr const char* job_spec = "spec.template.spec.replicatedJobs";

// A value of each field that differs from what the runtimes have.
const std::map<std::string, const char*>& values() {
    static const std::map<std::string, const char*> all = {
        {"trainer.image", "train:2"},
        {"trainer.command", "[own]"},
        {"trainer.args", "[own]"},
        {"trainer.env", "[{name: OWN, value: '1'}]"},
        {"trainer.numNodes", "3"},
        // A resource that is not counted: counts have an effect beyond the containers that get the resources.
        {"trainer.resourcesPerNode", "{limits: {memory: 6Gi}}"},
        {"trainer.resourceClaimsPerNode", "[{name: own, resourceClaimTemplateName: own}]"},
        {"trainer.numProcPerNode", "6"},
        {"initializer.dataset.storageUri", "hf://own"},
        {"initializer.dataset.env", "[{name: OWN, value: '1'}]"},
        {"initializer.dataset.secretRef", "{name: own}"},
        {"initializer.model.storageUri", "hf://own"},
        {"initializer.model.env", "[{name: OWN, value: '1'}]"},
        {"initializer.model.secretRef", "{name: own}"},
    };
    return all;
}

// Adds the fields of a TrainJob, as paths below `spec`: those of the trainer, and of each initializer.
void add_fields(const Json& schema, const std::string& path, int depth, std::set<std::string>& fields) {
    for (const auto& [name, member] : schema["properties"].members()) {
        const std::string at = path + "." + std::string(name);
        if (depth > 0)
            add_fields(member, at, depth - 1, fields);
        else
            fields.insert(at);
    }
}

std::set<std::string> fields_of_schema() {
    std::ifstream file(SIGNALBOX_CRDS "/trainjobs.yaml");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Json crd = api::parse_yaml(text).value();
    const Json& spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    std::set<std::string> fields;
    add_fields(spec["properties"]["trainer"], "trainer", 0, fields);
    add_fields(spec["properties"]["initializer"], "initializer", 1, fields);
    return fields;
}

std::string job_text(const std::string& name, const std::string& step, const std::string& container) {
    const std::string label =
        step.empty() ? ""
                     : "metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: " + step + "}}, ";
    return "{name: " + name + ", template: {" + label +
           "spec: {template: {spec: {containers: [{name: " + container +
           ", image: 'base:1', volumeMounts: [{name: initializer, mountPath: /w}]}]}}}}}";
}

struct RuntimeCase {
    std::string name = {};
    Json runtime = {};
    Json job = {};
};

// Each framework, with each of the jobs that may be there or lack a label or its container.
std::vector<RuntimeCase> runtimes() {
    const std::pair<const char*, const char*> policies[] = {
        {"no policy", "null"},
        {"plain", "{}"},
        {"torch", "{torch: {}}"},
        {"torch by CPUs", "{torch: {numProcPerNode: cpu}}"},
        {"elastic torch", "{torch: {elasticPolicy: {minNodes: 1, maxNodes: 4}}}"},
        {"torchtune", "{torch: {}}"},
        {"torch with targets",
         "{torch: {envInjection: {targets: [{jobName: beside, containerNames: [c]}]}}}"},
        {"jax", "{jax: {}}"},
        {"xgboost", "{xgboost: {}}"},
        {"mpi", "{mpi: {}}"},
        {"mpi on the launcher", "{mpi: {runLauncherAsNode: true}}"},
        {"mpi with slots", "{mpi: {numProcPerNode: 2}}"},
        {"flux", "{flux: {}}"},
        {"flux with processes", "{flux: {numProcPerNode: 2}}"}};
    const std::pair<const char*, std::vector<std::string>> lists[] = {
        {"one that trains", {job_text("node", "trainer", "node")}},
        {"one that trains under another name", {job_text("other", "trainer", "node")}},
        {"one without the label", {job_text("node", "", "node")}},
        {"one without its container", {job_text("node", "trainer", "main")}},
        {"a launcher that trains", {job_text("launcher", "trainer", "node"), job_text("node", "", "node")}},
        {"a launcher alone", {job_text("launcher", "trainer", "node")}},
        {"a launcher without the label", {job_text("launcher", "", "node")}},
        {"initializers",
         {job_text("dataset-initializer", "dataset-initializer", "dataset-initializer"),
          job_text("model-initializer", "model-initializer", "model-initializer"),
          job_text("node", "trainer", "node")}},
        {"initializers without labels",
         {job_text("dataset-initializer", "", "dataset-initializer"),
          job_text("model-initializer", "", "model-initializer"), job_text("node", "trainer", "node")}},
        {"initializers with each other's labels",
         {job_text("dataset-initializer", "model-initializer", "dataset-initializer"),
          job_text("model-initializer", "dataset-initializer", "model-initializer"),
          job_text("node", "trainer", "node")}},
    };
    std::vector<RuntimeCase> all;
    for (const auto& [policy, ml_policy] : policies)
        for (const auto& [list, jobs] : lists) {
            Json runtime = changed(plain_runtime(), {{"spec.mlPolicy", ml_policy}});
            Json& built = at(runtime, job_spec) = Json::array();
            for (const std::string& job : jobs) built.push_back(tree(job));
            if (std::string_view(policy) == "torch with targets")
                built.push_back(tree(job_text("beside", "", "c")));
            Json job = train_job();
            if (std::string_view(policy) == "torchtune") {
                // Else the command that chooses torchtune is itself without effect.
                if (!jobs.front().starts_with("{name: node, template: {metadata: {labels") ||
                    jobs.front().find("containers: [{name: node") == std::string::npos)
                    continue;
                at(job, "spec.trainer.command") = tree("[tune, run]");
            }
            all.push_back({std::string(policy) + ", " + list, std::move(runtime), std::move(job)});
        }
    return all;
}

Json with_field(Json job, const std::string& field, const char* value) {
    at(job, "spec." + field) = tree(value);
    return job;
}

struct Outcome {
    std::string objects = {};
    std::string ignored = {};  // the notes of the event
};

std::optional<Outcome> outcome_of(const Json& object, const Json& runtime) {
    const api::TrainJob job = api::parse_train_job(object);
    const auto built =
        runtime::build({.job = job,
                        .runtime = runtime,
                        .ssh_key_pair = runtime::SshKeyPair{"private", "public"},
                        .curve_key_pair = runtime::CurveKeyPair{std::string(32, 'p'), std::string(32, 's')}});
    if (!built) return std::nullopt;
    Outcome outcome;
    for (const runtime::BuiltObject& each : built->objects) outcome.objects += to_json(each.object) + "\n";
    for (const runtime::BuildWarning& warning : built->warnings)
        if (warning.reason == "TrainJobFieldIgnored") outcome.ignored += warning.note;
    return outcome;
}

// Returns what admission says of a field that no job takes; empty if it says nothing.
std::string said_of(const std::string& field, const Json& job, const Json& runtime) {
    const auto found =
        runtime::validate_train_job({.object = job, .runtime = &runtime, .gates = runtime::Gates::all()});
    std::string said;
    for (const api::FieldError& error : found.errors) {
        const std::string part = "spec." + field.substr(0, field.rfind('.'));
        if (error.field == "spec." + field && error.rule == api::RuleId("trainer_job")) said += "denied ";
        if (error.detail.find("no label") != std::string::npos &&
            error.detail.find(part + " needs") != std::string::npos)
            said += "denied ";
    }
    for (const api::Warning& warning : found.warnings)
        if (warning.text.starts_with("spec." + field + " has no effect")) said += "warned ";
    return said;
}

}  // namespace

TEST_CASE("each field of the trainer and of the initializers says which job takes it", "[taken]") {
    std::set<std::string> known;
    for (const runtime::TakenField& field : runtime::taken_fields) known.emplace(field.path);
    CHECK(known == fields_of_schema());
    for (const std::string& path : known) {
        INFO(path);
        CHECK(values().contains(path));
    }
}

TEST_CASE("admission and the build speak of exactly those fields that change nothing of what is built",
          "[taken]") {
    std::size_t taken = 0, ignored = 0;
    for (const RuntimeCase& c : runtimes()) {
        const auto without = outcome_of(c.job, c.runtime);
        if (!without) continue;  // from such a runtime nothing is built
        CHECK(without->ignored.empty());
        for (const auto& [field, value] : values()) {
            INFO(c.name << ": " << field);
            const Json job = with_field(c.job, field, value);
            const auto with = outcome_of(job, c.runtime);
            if (!with) continue;  // an error, and so not silent
            const bool is_taken = with->objects != without->objects;
            ++(is_taken ? taken : ignored);
            CHECK(with->ignored == (is_taken ? "" : "no job of the runtime takes spec." + field));
            // An initializer whose job has another name is denied for that.
            if (field.starts_with("initializer.") && !is_taken) {
                const auto found = runtime::validate_train_job({.object = job, .runtime = &c.runtime});
                CHECK_FALSE(found.errors.empty());
            } else {
                CHECK(said_of(field, job, c.runtime).empty() == is_taken);
            }
        }
    }
    CHECK(taken > 300);
    CHECK(ignored > 300);
}

TEST_CASE("a stored TrainJob whose initializer no job takes can be changed elsewhere", "[taken]") {
    Json runtime = plain_runtime();
    at(runtime, job_spec) = Json::array({tree(job_text("dataset-initializer", "", "dataset-initializer")),
                                         tree(job_text("node", "trainer", "node"))});
    const Json stored =
        changed(train_job(), {{"spec.suspend", "true"}, {"spec.initializer.dataset.storageUri", "hf://own"}});
    const auto created = runtime::validate_train_job({.object = stored, .runtime = &runtime});
    REQUIRE(created.errors.size() == 1);
    CHECK(created.errors.begin()->detail ==
          "the runtime has no label trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer on its "
          "job \"dataset-initializer\", which spec.initializer.dataset needs");
    const Json placed = changed(
        stored, {{"spec.runtimePatches",
                  "[{manager: a.io/x, trainingRuntimeSpec: {template: {metadata: {labels: {k: l}}}}}]"}});
    CHECK(runtime::validate_train_job({.object = placed, .old_object = stored, .runtime = &runtime})
              .errors.empty());
}
