#include "heap.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "kube/api_server.hpp"
#include "support/virtual_clock.hpp"

using namespace std::chrono_literals;

TEST_CASE("memory is given back once after each burst of work, when it is over") {
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
    CHECK(trims == 0);  // nothing was done
    for (int second = 0; second < 30; ++second) {
        work += 100;
        clock.run_for(1s);
    }
    CHECK(trims == 0);
    clock.run_for(11s);
    CHECK(trims == 1);
    clock.run_for(1h);
    CHECK(trims == 1);
    ++work;
    clock.run_for(11s);
    CHECK(trims == 2);
    stop.emit(boost::asio::cancellation_type::terminal);
    clock.run();
}
