#include "net/process/supervisor.hpp"

#include <unistd.h>

#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <csignal>

using namespace std::chrono_literals;

namespace {

net::Task<> endless() {
    for (;;) co_await net::sleep_for(1h);
}

net::Task<> broken() {
    throw std::runtime_error("out of luck");
    co_return;
}

net::Task<> short_one() { co_return; }

// A process whose shutdown is immediate, unless a test makes it hang; then it continues after the limit.
struct Life {
    boost::asio::io_context context{1};
    std::string lines = {};
    net::Log log{net::LogLevel::info, net::LogFormat::json, [this](std::string_view line) { lines += line; }};
    std::vector<int> left = {};
    bool hangs = false;
    std::string ends = {};  // "orderly" or "in a hurry"
    net::Wakeup gone{context.get_executor()};
    net::Supervisor supervisor;

    explicit Life(net::ShutdownLimits limits = {})
        : supervisor(context, log, limits, [this](int status) {
              left.push_back(status);
              gone.notify();
          }) {}

    api::Result<> run() {
        return supervisor.run([this](bool immediate) { return end(immediate); });
    }
    net::Task<> end(bool immediate) {
        ends += immediate ? "in a hurry" : "orderly";
        if (hangs) co_await gone.wait();
    }
};

}  // namespace

TEST_CASE("a signal ends a process in order", "[net]") {
    for (const int number : {SIGTERM, SIGINT}) {
        Life life;
        life.supervisor.start("first", endless());
        life.supervisor.start("second", endless());
        ::kill(::getpid(), number);  // also one that comes before run()
        CHECK(life.run());
        CHECK(life.ends == "orderly");
        CHECK(life.left.empty());
        CHECK_THAT(life.lines, Catch::Contains("\"msg\":\"stopping\",\"signal\":" + std::to_string(number)));
    }
}

TEST_CASE("a loop that ends by itself ends the process with an error that names both", "[net]") {
    struct Case {
        net::Task<> (*loop)();
        std::string why;
    };
    for (const Case& c : {Case{broken, "out of luck"}, Case{short_one, "it returned"}}) {
        Life life;
        life.supervisor.start("fine", endless());
        life.supervisor.start("watch of trainjobs", c.loop());
        const auto lived = life.run();
        REQUIRE(!lived);
        CHECK_THAT(lived.error().message, Catch::Contains("watch of trainjobs") && Catch::Contains(c.why));
        CHECK_THAT(life.lines, Catch::Contains("\"level\":\"error\"") &&
                                   Catch::Contains("\"loop\":\"watch of trainjobs\"") &&
                                   Catch::Contains(c.why));
        CHECK(life.ends == "in a hurry");
        CHECK(life.left.empty());
    }
}

TEST_CASE("a bug during the shutdown is an error as well", "[net]") {
    Life life;
    ::kill(::getpid(), SIGTERM);
    const auto lived = life.supervisor.run([](bool) { return broken(); });
    REQUIRE(!lived);
    CHECK_THAT(lived.error().message, Catch::Contains("out of luck"));
}

TEST_CASE("a second signal ends a process at once, with a log line", "[net]") {
    Life life;
    life.hangs = true;
    life.supervisor.start("one", endless());
    // The second signal is sent after the first has been received: pending equal signals are merged.
    const auto impatient = [](Life& of) -> net::Task<> {
        ::kill(::getpid(), SIGTERM);
        while (of.ends.empty()) co_await net::sleep_for(1ms);
        ::kill(::getpid(), SIGINT);
    };
    net::TaskGroup clients(life.context.get_executor());
    clients.start(impatient(life), [](const std::exception_ptr&) {});
    CHECK(life.run());
    CHECK(life.left == std::vector<int>{1});
    CHECK_THAT(life.lines, Catch::Contains("a second signal: ending at once"));
}

TEST_CASE("a shutdown has a time limit, and a shorter one after a bug", "[net]") {
    for (const bool bug : {false, true}) {
        Life life({.end = bug ? 1h : 2ms, .end_of_bug = bug ? 2ms : 1h});
        life.hangs = true;
        if (bug)
            life.supervisor.start("one", broken());
        else
            ::kill(::getpid(), SIGTERM);
        CHECK(life.run().has_value() == !bug);
        CHECK(life.left == std::vector<int>{1});
        CHECK_THAT(life.lines, Catch::Contains("the end took too long"));
    }
}

TEST_CASE("an exception in the event loop itself ends the process", "[net]") {
    Life life;
    boost::asio::post(life.context, [] { throw std::runtime_error("out of luck"); });
    life.run();
    CHECK(life.left == std::vector<int>{1});
    CHECK_THAT(life.lines, Catch::Contains("out of luck"));
}
