#include "net/process/run_program.hpp"

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>

#include "support/printers.hpp"

using namespace std::chrono_literals;
using api::Errc;

namespace {

net::Program shell(std::string script) { return {.command = "sh", .arguments = {"-c", std::move(script)}}; }

}  // namespace

TEST_CASE("a program gets its arguments and variables, and its output is returned", "[net]") {
    ::setenv("RUN_PROGRAM_A", "ours", 1);
    ::setenv("RUN_PROGRAM_B", "ours", 1);
    auto program =
        shell("printf '%s|' \"$0\" \"$1\" \"$RUN_PROGRAM_A\" \"$RUN_PROGRAM_B\" \"$RUN_PROGRAM_C\"");
    program.arguments.insert(program.arguments.end(), {"zero", "with blanks and 'quotes'"});
    program.environment = {
        {"RUN_PROGRAM_B", "first"}, {"RUN_PROGRAM_B", "foreign"}, {"RUN_PROGRAM_C", "new=\n"}};
    const auto result = net::run_program(program);
    REQUIRE(result);
    CHECK(result->status == 0);
    CHECK(result->output == "zero|with blanks and 'quotes'|ours|foreign|new=\n|");
}

TEST_CASE("the exit of a program is reported as shells do", "[net]") {
    CHECK(net::run_program(shell("exit 3"))->status == 3);
    CHECK(net::run_program(shell("kill -9 $$"))->status == 137);
    const auto failed = net::run_program(shell("echo said; exit 255"));
    REQUIRE(failed);
    CHECK(failed->status == 255);
    CHECK(failed->output == "said\n");
}

TEST_CASE("a program that does not exist or cannot be executed is an error", "[net]") {
    CHECK(net::run_program({.command = "no-such-program-at-all"}).error().code == Errc::not_found);
    CHECK(net::run_program({.command = "/no/such/program"}).error().code == Errc::not_found);
    CHECK(net::run_program({}).error().code == Errc::not_found);
    CHECK(net::run_program({.command = "/etc/passwd"}).error().code == Errc::forbidden);
}

TEST_CASE("a program reads nothing unless it shares our standard input", "[net]") {
    const auto result = net::run_program(shell("cat; echo end"));
    REQUIRE(result);
    CHECK(result->output == "end\n");
}

TEST_CASE("a program blocks none of the signals that this process blocks", "[net]") {
    sigset_t blocked, before;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    const auto result = net::run_program(shell("kill -TERM $$; echo survived"));
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    REQUIRE(result);
    CHECK(result->status == 128 + SIGTERM);
    CHECK(result->output.empty());
}

TEST_CASE("output is read up to its limit", "[net]") {
    auto program = shell("head -c 300000 /dev/zero");
    program.most_output = 300'000;
    CHECK(net::run_program(program)->output.size() == 300'000);
    program.most_output = 299'999;
    CHECK(net::run_program(program).error().code == Errc::too_large);
    auto endless = shell("exec cat /dev/zero");
    endless.most_output = 1000;
    CHECK(net::run_program(endless).error().code == Errc::too_large);
}

TEST_CASE("a program that exceeds its time is ended", "[net]") {
    auto program = shell("exec tail -f /dev/null");
    program.time_limit = 200ms;
    const auto result = net::run_program(program);
    REQUIRE(result.has_error());
    CHECK(result.error().code == Errc::unavailable);
    CHECK(result.error().message == "has not ended within 1s");
}

TEST_CASE("run_program() waits for a program that closes its output early", "[net]") {
    const auto result = net::run_program(shell("echo first; exec >&-; exit 4"));
    REQUIRE(result);
    CHECK(result->status == 4);
    CHECK(result->output == "first\n");
}

TEST_CASE("run_program() does not wait for background processes that keep the output open", "[net]") {
    // For example a browser that a login has opened.
    const auto result = net::run_program(shell("tail -f /dev/null & echo $!"));
    REQUIRE(result);
    CHECK(result->status == 0);
    const pid_t left = static_cast<pid_t>(std::atoi(result->output.c_str()));
    REQUIRE(left > 0);
    CHECK(::kill(left, SIGKILL) == 0);
}
