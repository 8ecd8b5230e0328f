// Builds random TrainJobs from random runtimes, both such as their CRDs' schemas admit:
//
//   random_builds SEED COUNT [SECONDS]      COUNT inputs, or as many as fit into SECONDS
//
// Every input is judged, shown what it asks to see of a random cluster, built twice, stored as a snapshot and
// read again; half of them with the status gate on. A rule that does not hold ends the program with the
// input; so does an input that takes long.
#include <sys/time.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include "api/yaml.hpp"
#include "build_rules.hpp"
#include "random_input.hpp"
#include "runtime/plugin.hpp"

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
    const runtime::Features with_status = {.status_server =
                                               runtime::StatusServer{.url = "https://status.ns.svc:10443",
                                                                     .ca_secret = {"kubeflow-system", "ca"}}};
    const runtime::Pipeline pipelines[] = {runtime::make_pipeline({}), runtime::make_pipeline(with_status)};
    std::uint64_t done = 0, bytes = 0;
    Tally tally;
    for (; done < count && std::chrono::steady_clock::now() - started < limit; ++done) {
        SchemaValues values(seed + done);  // so that every input can be made again by itself
        limit_cpu(seconds_per_input);
        const Input input = make_input(values, job_schema, runtime_schema);
        bytes += done % 100 == 0 ? to_json(input.runtime).size() + to_json(input.job).size() : 0;
        if (const std::string broken = broken_rule(input, pipelines[values.below(2)], values, tally);
            !broken.empty()) {
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
    for (const auto& [kind, times] : tally.observed) std::cout << times << " shown: " << kind << '\n';
    for (const auto& [kind, times] : tally.refused) std::cout << times << " refused: " << kind << '\n';
    // Little is shown if fewer than two in five are built.
    return done > 0 && tally.built * 5 < done * 2 ? 1 : 0;
}
