// Runs the fuzz targets without libFuzzer, for the gate: each on its corpus, and on random changes of it.
//
//   random_bytes CORPUS SEED|today SECONDS [TARGET]     all targets in equal parts of the time, or one
//
// `today` is a seed that differs by day; it is printed. An input that breaks a rule ends the program, and is
// the file finding-TARGET in the present folder. Pass it to that target of scripts/fuzz, or put it into its
// corpus. Inputs stay small: large ones are for libFuzzer, which also sees what an input reaches.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "input.hpp"

#define FUZZER(name) extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
#include "fuzzers.inc"
#undef FUZZER

extern "C" {
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed);
// AddressSanitizer defines it.
void __sanitizer_set_death_callback(void (*)()) __attribute__((weak));
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_bytes = 4096;

struct Target {
    const char* name;
    int (*run)(const std::uint8_t* data, std::size_t size);
};

constexpr Target targets[] = {
#define FUZZER(name) {#name, fuzz_##name},
#include "fuzzers.inc"
#undef FUZZER
};

std::minstd_rand random_numbers;
const char* target_at_work = "";
std::vector<std::uint8_t> input;

void store_finding() {
    std::ofstream("finding-" + std::string(target_at_work), std::ios::binary)
        .write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
    std::cerr << "finding-" << target_at_work << ": " << input.size() << " bytes\n";
}

void on_abort(int) {
    store_finding();
    std::_Exit(1);
}

void run(const Target& target) { target.run(input.data(), input.size()); }

std::vector<std::vector<std::uint8_t>> corpus_of(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files(std::filesystem::directory_iterator(folder), {});
    std::ranges::sort(files);
    std::vector<std::vector<std::uint8_t>> corpus;
    for (const auto& path : files) {
        std::ifstream file(path, std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return corpus;
}

// Returns how many inputs were run.
std::uint64_t run_for(const Target& target, const std::filesystem::path& folder, Clock::duration time) {
    target_at_work = target.name;
    const auto corpus = corpus_of(folder);
    for (const auto& each : corpus) {
        input = each;
        run(target);
    }
    std::uint64_t count = corpus.size();
    for (const auto end = Clock::now() + time; Clock::now() < end; ++count) {
        input = corpus[random_numbers() % corpus.size()];
        std::size_t size = std::min(input.size(), most_bytes);
        input.resize(most_bytes);
        for (auto changes = 1 + random_numbers() % 8; changes > 0; --changes)
            size = LLVMFuzzerCustomMutator(input.data(), size, input.size(),
                                           static_cast<unsigned>(random_numbers()));
        input.resize(size);
        run(target);
    }
    return count;
}

}  // namespace

// In place of libFuzzer's: changes, inserts, removes or doubles some bytes.
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size) {
    constexpr std::string_view telling = "\"\\{}[]:,<>&;%\r\n\t -+0\x1b\x7f\x80\xc2\xe2\xff";
    const auto any = [&]() -> std::uint8_t {
        return static_cast<std::uint8_t>(
            random_numbers() % 2 == 0 ? telling[random_numbers() % telling.size()] : random_numbers() >> 8);
    };
    const std::size_t at = size == 0 ? 0 : random_numbers() % size;
    const std::size_t length = size == 0 ? 0 : std::min<std::size_t>(size - at, 1 + random_numbers() % 16);
    switch (random_numbers() % 4) {
        case 0:
            if (size > 0) data[at] = any();
            return size;
        case 1:
            if (size == max_size) return size;
            std::copy_backward(data + at, data + size, data + size + 1);
            data[at] = any();
            return size + 1;
        case 2: std::copy(data + at + length, data + size, data + at); return size - length;
        default:
            if (size + length > max_size) return size;
            std::copy_backward(data + at, data + size, data + size + length);
            return size + length;
    }
}

int main(int argc, char** argv) {
    if (argc < 4) {
        std::cerr << "usage: random_bytes CORPUS SEED|today SECONDS [TARGET]\n";
        return 2;
    }
    const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
    const bool by_day = std::string_view(argv[2]) == "today";
    const auto seed = by_day ? static_cast<unsigned long>(today.time_since_epoch().count())
                             : std::strtoul(argv[2], nullptr, 10);
    const std::string only = argc > 4 ? argv[4] : "";
    std::cout << "seed " << seed << std::endl;
    random_numbers.seed(static_cast<unsigned>(seed));
    std::signal(SIGABRT, on_abort);
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(store_finding);
    const std::chrono::milliseconds all(std::strtol(argv[3], nullptr, 10) * 1000);
    const auto count = only.empty() ? std::size(targets) : 1;
    for (const Target& target : targets) {
        if (!only.empty() && only != target.name) continue;
        const auto done = run_for(target, std::filesystem::path(argv[1]) / target.name, all / count);
        std::cout << target.name << ": " << done << " inputs" << std::endl;
    }
    return 0;
}
