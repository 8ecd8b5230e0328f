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
#include <map>

#include "api/yaml.hpp"
#include "random_input.hpp"
#include "runtime/admission.hpp"
#include "runtime/build.hpp"
#include "runtime/snapshot.hpp"

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

bool is_path(std::string_view field) { return field.starts_with("spec") || field.starts_with("metadata"); }

// A refusal without what differs from input to input: paths, quoted names, numbers, what follows a colon.
std::string kind_of(const api::Error& error) {
    std::string_view text = error.message;
    if (const auto colon = text.find(": "); text.starts_with("trainingRuntimeSpec") && colon != text.npos)
        text.remove_prefix(colon + 2);
    std::string kind;
    bool quoted = false;
    for (const char c : text.substr(0, text.find(": "))) {
        const bool digit = c >= '0' && c <= '9';
        if (!quoted && !digit) kind += c;
        if (digit && !kind.ends_with('#')) kind += '#';
        if (c == '"') quoted = !quoted;
    }
    return kind;
}

struct Tally {
    std::uint64_t built = 0;
    std::map<std::string, std::uint64_t> refused = {};  // by kind
};

// What does not hold; empty if all does.
std::string broken_rule(const Input& input, Tally& tally) {
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
    if (!built) {
        ++tally.refused[kind_of(built.error())];
        if (built.error().code != api::Errc::invalid)
            return "an error that is not `invalid`: " + describe(built.error());
        if (!is_path(built.error().field)) return "an error without a path: " + describe(built.error());
        return built.error().message.empty() ? "an error without a message" : "";
    }
    ++tally.built;
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
    std::uint64_t done = 0, bytes = 0;
    Tally tally;
    for (; done < count && std::chrono::steady_clock::now() - started < limit; ++done) {
        SchemaValues values(seed + done);  // so that every input can be made again by itself
        limit_cpu(seconds_per_input);
        const Input input = make_input(values, job_schema, runtime_schema);
        bytes += done % 100 == 0 ? to_json(input.runtime).size() + to_json(input.job).size() : 0;
        if (const std::string broken = broken_rule(input, tally); !broken.empty()) {
            std::cerr << "seed " << seed + done << ": " << broken << '\n'
                      << input.job << '\n'
                      << input.runtime << '\n';
            return 1;
        }
        if ((done + 1) % 50'000 == 0) std::cout << done + 1 << " inputs" << std::endl;
    }
    limit_cpu(0);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    std::cout << done << " inputs from seed " << seed << ", " << tally.built
              << " of them built, the others refused; of " << bytes / (done / 100 + 1)
              << " bytes on average; " << took.count() << " s\n";
    for (const auto& [kind, times] : tally.refused) std::cout << times << " refused: " << kind << '\n';
    // Little is shown if fewer than two in five are built.
    return done > 0 && tally.built * 5 < done * 2 ? 1 : 0;
}
