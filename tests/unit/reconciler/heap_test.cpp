#include "heap.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "kube/client/api_server.hpp"
#include "support/virtual_clock.hpp"

using namespace std::chrono_literals;

namespace {

// Returns memory to the system, and counts how often.
struct Fixture {
    boost::asio::io_context context;
    VirtualClock clock{context};
    boost::asio::cancellation_signal stop;
    int trims = 0;

    explicit Fixture(std::function<std::uint64_t()> work_done) {
        boost::asio::co_spawn(
            context, reconciler::trim_heap_when_calm(clock, std::move(work_done), [this] { ++trims; }),
            boost::asio::bind_cancellation_slot(stop.slot(), [](const std::exception_ptr&) {}));
    }
    ~Fixture() {
        stop.emit(boost::asio::cancellation_type::terminal);
        clock.run();
    }
};

}  // namespace

TEST_CASE("memory is returned after the start, and once after each burst of work has ended") {
    std::uint64_t work = 0;
    Fixture fixture([&] { return work; });
    fixture.clock.run_for(1min);
    CHECK(fixture.trims == 1);  // and then there was no work
    for (int second = 0; second < 30; ++second) {
        work += 100;
        fixture.clock.run_for(1s);
    }
    CHECK(fixture.trims == 1);
    fixture.clock.run_for(11s);
    CHECK(fixture.trims == 2);
    fixture.clock.run_for(1h);
    CHECK(fixture.trims == 2);
    ++work;
    fixture.clock.run_for(11s);
    CHECK(fixture.trims == 3);
}

TEST_CASE("memory is returned before a start without work is five seconds old") {
    Fixture fixture([] { return 0; });
    fixture.clock.run_for(3s);
    CHECK(fixture.trims == 1);
}

TEST_CASE("a replica without reconciles returns memory after large numbers of watch events") {
    std::uint64_t objects_received = 5000;  // its first lists
    Fixture fixture([&] { return reconciler::heap_work(0, objects_received); });
    fixture.clock.run_for(1min);
    CHECK(fixture.trims == 1);
    SECTION("after another list") { objects_received += 5000; }
    SECTION("after many changes") {
        for (int second = 0; second < 30; ++second) {
            objects_received += 100;
            fixture.clock.run_for(1s);
        }
        CHECK(fixture.trims == 1);
    }
    fixture.clock.run_for(1h);
    CHECK(fixture.trims == 2);
}

TEST_CASE("slow changes do not return memory again and again") {
    std::uint64_t objects_received = 0;
    Fixture fixture([&] { return reconciler::heap_work(0, objects_received); });
    fixture.clock.run_for(1min);
    for (int change = 0; change < 360; ++change) {
        ++objects_received;
        fixture.clock.run_for(10s);
    }
    CHECK(fixture.trims <= 1 + 360 / 100);
}
