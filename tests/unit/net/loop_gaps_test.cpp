#include "net/process/loop_gaps.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>

#include "net/process/metrics.hpp"

using namespace std::chrono_literals;
using net::LoopGaps;

namespace {

// A watched loop whose time the test sets.
struct Watched {
    Watched() {
        boost::asio::co_spawn(context, gaps.watch(), boost::asio::detached);
        turn(0ms);
    }

    /// Runs a turn of the loop, this much later.
    void turn(LoopGaps::Duration later) {
        now += later;
        context.run_one();
    }

    LoopGaps::Time now{1h};
    LoopGaps gaps{1ms, [this] { return now; }};
    boost::asio::io_context context{1};
};

}  // namespace

TEST_CASE("an event loop whose turns are in time has no gap", "[net]") {
    Watched loop;
    for (int i = 0; i < 5; ++i) loop.turn(1ms);
    CHECK(loop.gaps.longest() == 0ms);
}

TEST_CASE("the metric shows the longest gap between turns for one to two minutes", "[net]") {
    Watched loop;
    loop.turn(30'001ms);
    loop.turn(20'001ms);
    for (int second = 0; second < 60; ++second) {
        CHECK(loop.gaps.longest() == 30s);
        loop.turn(1s);
    }
    for (int second = 0; second < 61; ++second) loop.turn(1s);
    CHECK(loop.gaps.longest() == 999ms);
}

TEST_CASE("the metric shows a gap before it ends", "[net]") {
    Watched loop;
    loop.turn(1ms);
    loop.now += 20s;
    CHECK(loop.gaps.longest() == 20s - 1ms);
}

TEST_CASE("a loop whose watch has ended has no gaps", "[net]") {
    LoopGaps::Time now{1h};
    LoopGaps gaps(1ms, [&] { return now; });
    {
        boost::asio::io_context context{1};
        boost::asio::co_spawn(context, gaps.watch(), boost::asio::detached);
        context.run_one();
    }
    now += 1h;
    CHECK(gaps.longest() == 0ms);
}

TEST_CASE("the longest gap is a metric in seconds", "[net]") {
    Watched loop;
    net::Metrics metrics;
    net::add_loop_metrics(metrics, loop.gaps);
    loop.turn(251ms);
    CHECK_THAT(metrics.expose(), Catch::Contains("\nsignalbox_event_loop_longest_gap_seconds 0.25\n"));
}
