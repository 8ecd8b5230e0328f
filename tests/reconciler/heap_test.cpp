#include "heap.hpp"

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <fstream>

#include "kube/api_server.hpp"
#include "support/virtual_clock.hpp"

using namespace std::chrono_literals;

TEST_CASE("memory is given back after the start, and once after each burst of work when it is over") {
    boost::asio::io_context context;
    VirtualClock clock(context);
    boost::asio::cancellation_signal stop;
    std::uint64_t work = 0;
    int trims = 0;
    boost::asio::co_spawn(context,
                          reconciler::trim_heap_when_calm(
                              clock, [&] { return work; }, [&] { ++trims; }),
                          boost::asio::bind_cancellation_slot(stop.slot(), [](const std::exception_ptr&) {}));
    clock.run_for(1min);
    CHECK(trims == 1);  // and then nothing was done
    for (int second = 0; second < 30; ++second) {
        work += 100;
        clock.run_for(1s);
    }
    CHECK(trims == 1);
    clock.run_for(11s);
    CHECK(trims == 2);
    clock.run_for(1h);
    CHECK(trims == 2);
    ++work;
    clock.run_for(11s);
    CHECK(trims == 3);
    stop.emit(boost::asio::cancellation_type::terminal);
    clock.run();
}

TEST_CASE("the pages of our program are given back, and come back as they were when they are used") {
    static const char constant[] = "neither code nor constants are lost";
    const std::string before = constant;
    const auto resident = [] {
        std::ifstream status("/proc/self/status");
        std::string word;
        long kib = 0;
        while (status >> word)
            if (word == "RssFile:") status >> kib;
        return kib;
    };
    const long all = resident();
    reconciler::give_memory_back();
    CHECK(resident() < all);
    CHECK(before == constant);
    std::vector<std::string> lines = {"b", "a"};
    std::sort(lines.begin(), lines.end());
    CHECK(lines.front() == "a");
}
