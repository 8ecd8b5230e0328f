// Builds random TrainJobs from random runtimes that the schemas of the CRDs admit:
//
//   random_builds SEED COUNT [SECONDS]      COUNT inputs, or as many as fit into SECONDS
//   random_builds today COUNT [SECONDS]     with a seed that differs by day, and is printed
//
// Every input is reviewed as a new object and as a change of another one, built twice with the objects of a
// random cluster, stored as a snapshot and read again; half of them with the status gate on. A rule
// that does not hold ends the program with the input and its seed; so does an input that takes long.
#include <sys/time.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string_view>

#include "api/yaml.hpp"
#include "build_rules.hpp"
#include "random_input.hpp"
#include "runtime/plugin.hpp"

namespace {

using api::Json;

constexpr long seconds_per_input = 10;  // of CPU: ten thousand times the usual time under sanitizers

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

void limit_cpu(long seconds) {
    const itimerval timer = {.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
    setitimer(ITIMER_PROF, &timer, nullptr);
}

volatile unsigned long long seed_in_work = 0;

void end_slow_input(int) {
    char text[64];
    const int size = std::snprintf(text, sizeof text, "seed %llu takes too long\n", seed_in_work);
    (void)!write(STDERR_FILENO, text, static_cast<std::size_t>(size));
    std::_Exit(1);
}

// Every day has a range of a billion seeds.
std::optional<std::uint64_t> seed_of(std::string_view text) {
    using Days = std::chrono::duration<std::uint64_t, std::ratio<86'400>>;
    if (text == "today")
        return std::chrono::duration_cast<Days>(std::chrono::system_clock::now().time_since_epoch()).count() *
               1'000'000'000;
    std::uint64_t seed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return seed;
}

}  // namespace

int main(int argc, char** argv) {
    const auto first = argc < 3 ? std::nullopt : seed_of(argv[1]);
    if (!first) {
        std::cerr << "usage: random_builds SEED|today COUNT [SECONDS]\n";
        return 2;
    }
    const std::uint64_t seed = *first, count = std::strtoull(argv[2], nullptr, 10);
    std::cout << "seeds from " << seed << std::endl;
    std::signal(SIGPROF, end_slow_input);
    const std::chrono::seconds limit(argc > 3 ? std::strtol(argv[3], nullptr, 10) : 1'000'000);
    const Json job_schema = spec_schema("trainjobs"), runtime_schema = spec_schema("clustertrainingruntimes");
    const auto started = std::chrono::steady_clock::now();
    const runtime::Features with_status = {.status_server =
                                               runtime::StatusServer{.url = "https://status.ns.svc:10443",
                                                                     .ca_secret = {"kubeflow-system", "ca"}}};
    const runtime::Pipeline pipelines[] = {runtime::make_pipeline({}), runtime::make_pipeline(with_status)};
    std::uint64_t done = 0, slowest = seed;
    std::clock_t longest = 0;
    Tally tally;
    for (; done < count && std::chrono::steady_clock::now() - started < limit; ++done) {
        SchemaValues values(seed + done);  // so that every input can be reproduced alone
        seed_in_work = seed + done;
        const std::clock_t before = std::clock();
        limit_cpu(seconds_per_input);
        const Input input = make_input(values, job_schema, runtime_schema);
        if (const std::string broken = broken_rule(input, pipelines[values.below(2)], values, tally);
            !broken.empty()) {
            std::cerr << "seed " << seed + done << ": " << broken << '\n'
                      << input.job << '\n'
                      << input.runtime << '\n';
            return 1;
        }
        if (const std::clock_t took = std::clock() - before; took > longest) {
            longest = took;
            slowest = seed + done;
        }
        if ((done + 1) % 50'000 == 0) std::cout << done + 1 << " inputs" << std::endl;
    }
    limit_cpu(0);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    std::cout << done << " inputs from seed " << seed << ", " << tally.built << " of them built ("
              << tally.large << " large ones), the others refused; " << took.count() << " s, at most "
              << static_cast<double>(longest) / CLOCKS_PER_SEC << " s of CPU (seed " << slowest << ")\n";
    std::cout << "weight: " << tally.weight / std::max<std::uint64_t>(1, done) << " on average, "
              << tally.heaviest << " at most\n";
    std::cout << "most of a large build, per thousand of its weight: " << tally.most.allocations
              << " allocations, " << tally.most.bytes << " bytes, " << tally.most.peak
              << " of them at a time\n";
    for (const auto& [kind, times] : tally.admitted_and_refused)
        std::cout << times << " admitted, but refused: " << kind << '\n';
    for (const auto& [kind, times] : tally.observed) std::cout << times << " shown: " << kind << '\n';
    for (const auto& [kind, times] : tally.refused) std::cout << times << " refused: " << kind << '\n';
    // The run proves too little if fewer than two in five are built.
    return done > 0 && tally.built * 5 < done * 2 ? 1 : 0;
}
