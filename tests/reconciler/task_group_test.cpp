#include "task_group.hpp"

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

using namespace std::chrono_literals;

TEST_CASE("joining cancels endless loops and waits for them") {
    boost::asio::io_context context;
    std::vector<std::string> bugs;
    reconciler::TaskGroup tasks(context.get_executor(),
                                [&](const std::string& what) { bugs.push_back(what); });
    int ended = 0;
    const auto endless = [&]() -> net::Task<> {
        struct AtEnd {
            int& count;
            ~AtEnd() { ++count; }
        } at_end{ended};
        for (;;) co_await net::sleep_for(1h);
    };
    tasks.start(endless());
    tasks.start(endless());
    const auto stop = [&]() -> net::Task<> { co_await tasks.join(); };
    boost::asio::co_spawn(context, stop(), boost::asio::detached);
    context.run();
    CHECK(ended == 2);
    CHECK(bugs.empty());
}

TEST_CASE("a loop that throws is reported and does not take the others along") {
    boost::asio::io_context context;
    std::vector<std::string> bugs;
    reconciler::TaskGroup tasks(context.get_executor(),
                                [&](const std::string& what) { bugs.push_back(what); });
    const auto broken = []() -> net::Task<> {
        throw std::runtime_error("out of luck");
        co_return;
    };
    const auto endless = []() -> net::Task<> {
        for (;;) co_await net::sleep_for(1h);
    };
    tasks.start(broken());
    tasks.start(endless());
    context.run_for(10ms);
    CHECK(bugs == std::vector<std::string>{"out of luck"});
    const auto stop = [&]() -> net::Task<> { co_await tasks.join(); };
    boost::asio::co_spawn(context, stop(), boost::asio::detached);
    context.restart();
    context.run();
}
