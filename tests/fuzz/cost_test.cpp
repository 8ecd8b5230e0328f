// The limits of cost.hpp hold: work that is not proportional to its input is a finding.
#include "cost.hpp"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <vector>

#include "support/places.hpp"
#include "work.hpp"

using namespace std::chrono_literals;

namespace {

// Runs it in a process of its own, which a finding ends; returns what it has printed, and "ok" after that.
std::string outcome_of(const std::function<void()>& work) {
    int ends[2] = {};
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);
        ::dup2(ends[1], STDERR_FILENO);
        work();
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string text;
    char piece[256];
    for (ssize_t size = 0; (size = ::read(ends[0], piece, sizeof piece)) > 0;)
        text.append(piece, static_cast<std::size_t>(size));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text + "ok";
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
    return text;
}

constexpr Cost limit = {.bytes_per_byte = 200, .nanoseconds_per_byte = 1'000};
constexpr std::size_t size = 20'000;

// Works until the thread has used that much CPU time, however fast the machine is.
void use_cpu(std::chrono::nanoseconds time) {
    const auto used = [] {
        timespec now = {};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
    };
    for (const auto end = used() + time; used() < end;) continue;
}

void hold(std::size_t bytes) { const std::vector<char> held(bytes, 'x'); }

bool counts_memory() {
    start_work();
    hold(1'000);
    return work_done().peak >= 1'000;
}

std::string source_of(const std::string& target) {
    std::ifstream stream(test::source() / "tests/fuzz" / (target + "_fuzz.cpp"));
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
}

}  // namespace

TEST_CASE("time that grows with the square of an input is a finding", "[fuzz]") {
    CHECK(outcome_of([] { at_cost(limit, size, [] { use_cpu(size * 50ns); }); }) == "ok");
    const std::string text = outcome_of([] { at_cost(limit, size, [] { use_cpu(size * size * 1ns); }); });
    CHECK_THAT(text,
               Catch::StartsWith("20000 bytes take ") && Catch::EndsWith(" ms of CPU, more than 220\n"));
}

TEST_CASE("memory that grows with the square of an input is a finding", "[fuzz]") {
    if (!counts_memory()) return;  // it takes AddressSanitizer
    CHECK(outcome_of([] { at_cost(limit, size, [] { hold(100 * size); }); }) == "ok");
    const std::string text = outcome_of([] { at_cost(limit, size, [] { hold(size * size); }); });
    CHECK_THAT(text, Catch::StartsWith("20000 bytes take ") &&
                         Catch::EndsWith(" bytes of memory, more than 6000000\n"));
}

TEST_CASE("what tenants, clients and files bring has limits of memory and time", "[fuzz]") {
    for (const char* target : {"build", "http", "kubeconfig", "merge", "snapshot"})
        CHECK_THAT(source_of(target), Catch::Matches("[^]*return at_cost\\(\\{\\.bytes_per_byte = \\d+, "
                                                     "\\.nanoseconds_per_byte = \\d+\\}, size, [^]*"));
}
