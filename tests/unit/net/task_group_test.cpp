#include "net/process/task_group.hpp"

#include <catch2/catch.hpp>

#include "loop.hpp"

using namespace std::chrono_literals;

namespace {

struct Group {
    test::Loop loop = {};
    net::TaskGroup tasks{loop.executor()};
    std::vector<std::string> ended = {};

    void start(net::Task<> task) {
        tasks.start(std::move(task), [this](const std::exception_ptr& thrown) {
            ended.push_back(thrown ? net::what_of(thrown) : "returned");
        });
    }
};

net::Task<> endless(int& ended) {
    struct AtEnd {
        int& count;
        ~AtEnd() { ++count; }
    } at_end{ended};
    for (;;) co_await net::sleep_for(1h);
}

net::Task<> broken() {
    throw std::runtime_error("out of luck");
    co_return;
}

net::Task<> short_one() { co_return; }

}  // namespace

TEST_CASE("joining cancels endless tasks, waits for them and reports none", "[net]") {
    Group group;
    int ended = 0;
    group.start(endless(ended));
    group.start(endless(ended));
    group.loop.settle();
    CHECK(!group.tasks.empty());
    group.loop.run(group.tasks.join());
    CHECK(ended == 2);
    CHECK(group.tasks.empty());
    CHECK(group.ended.empty());
}

TEST_CASE("a cancelled group starts no more tasks", "[net]") {
    Group group;
    int ended = 0;
    group.tasks.cancel();
    group.start(endless(ended));
    CHECK(group.tasks.empty());
    group.loop.run(group.tasks.join());
    CHECK(group.ended.empty());
}

TEST_CASE("the starter of a task gets its result", "[net]") {
    Group group;
    int ended = 0;
    group.start(endless(ended));
    group.start(broken());
    group.start(short_one());
    group.loop.settle();
    CHECK(group.ended == std::vector<std::string>{"out of luck", "returned"});
    CHECK(ended == 0);
    group.loop.run(group.tasks.join());
}

TEST_CASE("a task may start another one when it ends", "[net]") {
    Group group;
    group.tasks.start(short_one(), [&](const std::exception_ptr&) { group.start(short_one()); });
    group.loop.settle();
    CHECK(group.ended == std::vector<std::string>{"returned"});
}
