// Builds random TrainJobs from random runtimes, both such as their CRDs' schemas admit:
//
//   random_builds SEED COUNT [SECONDS]      COUNT inputs, or as many as fit into SECONDS
//
// Every input is judged, built twice, stored as a snapshot and read again. A property that does not hold ends
// the program with the input; so does an input that takes long.
#include <sys/time.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include "api/names.hpp"
#include "api/yaml.hpp"
#include "runtime/admission.hpp"
#include "runtime/build.hpp"
#include "runtime/snapshot.hpp"
#include "schema_values.hpp"

namespace {

using api::Json;

constexpr long seconds_per_input = 10;  // of CPU: ten thousand times what one takes under sanitizers

Json spec_schema(const std::string& crd) {
    std::ifstream file(SIGNALBOX_CRDS "/" + crd + ".yaml");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto read = api::parse_yaml(text);
    if (!read) {
        std::cerr << crd << ": " << read.error() << '\n';
        std::exit(1);
    }
    return std::as_const(*read)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
}

// Without a handler its signal ends the program.
void limit_cpu(long seconds) {
    const itimerval timer = {.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
    setitimer(ITIMER_PROF, &timer, nullptr);
}

struct Input {
    Json job = {};
    Json runtime = {};
};

// Most patches are for jobs that the runtime has, or all of them would be refused for that.
void aim_patches(SchemaValues& values, Json& job_spec, const Json& runtime_spec) {
    const auto& jobs = runtime_spec["template"]["spec"]["replicatedJobs"].items();
    Json* patches = job_spec.find("runtimePatches");
    if (!patches || jobs.empty()) return;
    for (Json& patch : patches->items()) {
        Json* step = &patch;
        for (const char* name : {"trainingRuntimeSpec", "template", "spec", "replicatedJobs"})
            if (step) step = step->find(name);
        if (!step || !step->is_array()) continue;
        for (std::size_t i = 0; i < step->items().size(); ++i)
            if (values.maybe(90)) step->items()[i]["name"] = jobs[i % jobs.size()]["name"];
        if (step->items().size() > jobs.size()) step->items().resize(jobs.size());
    }
}

// Two jobs that train are refused: mostly one is left.
void leave_one_trainer(SchemaValues& values, Json& runtime_spec) {
    bool found = false;
    Json* step = &runtime_spec;
    for (const char* name : {"template", "spec", "replicatedJobs"})
        if (step) step = step->find(name);
    if (!step || !step->is_array()) return;
    for (Json& job : step->items()) {
        Json* labels = &job;
        for (const char* name : {"template", "metadata", "labels"})
            if (labels) labels = labels->find(name);
        if (!labels || std::as_const(*labels)[api::ancestor_label].as_string() != "trainer") continue;
        if (found && values.maybe(95)) labels->erase(api::ancestor_label);
        found = true;
    }
}

Input make_input(SchemaValues& values, const Json& job_schema, const Json& runtime_schema) {
    Json runtime_spec = values.make(runtime_schema, "spec");
    leave_one_trainer(values, runtime_spec);
    Json job_spec = values.make(job_schema, "spec");
    aim_patches(values, job_spec, runtime_spec);
    const std::string runtime_name = values.maybe(20) ? "torchtune-llama3.2-1b" : "runtime";
    job_spec["runtimeRef"] = Json::object(
        {{"apiGroup", "trainer.kubeflow.org"}, {"kind", "ClusterTrainingRuntime"}, {"name", runtime_name}});
    Input input;
    input.job =
        Json::object({{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                      {"kind", "TrainJob"},
                      {"metadata", Json::object({{"name", "job"}, {"namespace", "ns"}, {"uid", "u"}})},
                      {"spec", std::move(job_spec)}});
    input.runtime = Json::object({{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                                  {"kind", "ClusterTrainingRuntime"},
                                  {"metadata", Json::object({{"name", runtime_name}})},
                                  {"spec", std::move(runtime_spec)}});
    return input;
}

bool is_path(std::string_view field) { return field.starts_with("spec") || field.starts_with("metadata"); }

// What does not hold; empty if all does.
std::string broken_rule(const Input& input, bool& was_built) {
    for (const runtime::Findings& findings :
         {runtime::review_train_job({.object = input.job, .old_object = Json(), .runtime = &input.runtime}),
          runtime::review_runtime(input.runtime, Json())})
        for (const api::FieldError& error : findings.errors)
            if (!is_path(error.field))
                return "an admission error without a path: " + error.field + ": " + error.detail;

    const api::TrainJob job = api::parse_train_job(input.job);
    const auto needed = runtime::needs(job, input.runtime);
    runtime::Inputs inputs = {.job = job, .runtime = input.runtime};
    if (needed.ssh_key_pair) inputs.ssh_key_pair.emplace();
    if (needed.curve_key_pair) inputs.curve_key_pair.emplace();
    const auto built = runtime::build(inputs);
    was_built = built.has_value();
    if (!built) {
        if (built.error().code != api::Errc::invalid)
            return "an error that is not `invalid`: " + describe(built.error());
        if (!is_path(built.error().field)) return "an error without a path: " + describe(built.error());
        return built.error().message.empty() ? "an error without a message" : "";
    }
    const auto again = runtime::build(inputs);
    if (!again) return "built once, but not twice";
    std::size_t size = 0;
    for (std::size_t i = 0; i < built->objects.size(); ++i) {
        const std::string text = to_json(built->objects[i].object);
        if (text != to_json(again->objects[i].object)) return "two builds differ";
        size += text.size();
    }
    // A host file of MPI grows with the number of nodes, up to what a ConfigMap takes.
    constexpr std::size_t host_file = 1 << 20;
    if (size > 10 * (to_json(input.job).size() + to_json(input.runtime).size()) + host_file + 100'000)
        return "the outcome is huge";

    const auto stored = runtime::read_snapshot(runtime::make_snapshot(job, input.runtime), job);
    if (!stored || !(*stored == input.runtime)) return "the snapshot is not the runtime";
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::cerr << "usage: random_builds SEED COUNT [SECONDS]\n";
        return 2;
    }
    const auto seed = std::strtoull(argv[1], nullptr, 10), count = std::strtoull(argv[2], nullptr, 10);
    const std::chrono::seconds limit(argc > 3 ? std::strtol(argv[3], nullptr, 10) : 1'000'000);
    const Json job_schema = spec_schema("trainjobs"), runtime_schema = spec_schema("clustertrainingruntimes");
    const auto started = std::chrono::steady_clock::now();
    std::uint64_t done = 0, built = 0, bytes = 0;
    for (; done < count && std::chrono::steady_clock::now() - started < limit; ++done) {
        SchemaValues values(seed + done);  // so that every input can be made again by itself
        limit_cpu(seconds_per_input);
        const Input input = make_input(values, job_schema, runtime_schema);
        bytes += done % 100 == 0 ? to_json(input.runtime).size() + to_json(input.job).size() : 0;
        bool was_built = false;
        if (const std::string broken = broken_rule(input, was_built); !broken.empty()) {
            std::cerr << "seed " << seed + done << ": " << broken << '\n'
                      << input.job << '\n'
                      << input.runtime << '\n';
            return 1;
        }
        built += was_built ? 1 : 0;
        if ((done + 1) % 50'000 == 0) std::cout << done + 1 << " inputs" << std::endl;
    }
    limit_cpu(0);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    std::cout << done << " inputs from seed " << seed << ", " << built
              << " of them built, the others refused; of " << bytes / (done / 100 + 1)
              << " bytes on average; " << took.count() << " s\n";
    // If most are refused, little is shown.
    return done > 0 && built * 4 < done ? 1 : 0;
}
