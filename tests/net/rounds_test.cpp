#include "net/rounds.hpp"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <vector>

namespace {

using namespace std::chrono_literals;
using net::RoundPacer;
using Duration = RoundPacer::Duration;

// A loop whose rounds come `every` so long, or later by its pauses, and find `handlers` to run.
class Woken {
public:
    std::vector<Duration> pauses(int rounds, Duration every, std::size_t handlers) {
        std::vector<Duration> found;
        for (int i = 0; i < rounds; ++i) {
            now_ += std::max(every, found.empty() ? Duration{0} : found.back());
            found.push_back(pacer_.pause_after(handlers, now_));
        }
        return found;
    }

private:
    RoundPacer pacer_;
    RoundPacer::Time now_{1h};
};

bool none(const std::vector<Duration>& pauses) {
    return std::all_of(pauses.begin(), pauses.end(), [](Duration pause) { return pause == 0us; });
}

}  // namespace

TEST_CASE("a loop that is woken now and then, or a hundred times in a row, lets nothing wait") {
    CHECK(none(Woken().pauses(1000, 25ms, 1)));
    CHECK(none(Woken().pauses(100, 0ms, 1)));
    CHECK_FALSE(none(Woken().pauses(102, 0ms, 1)));
}

TEST_CASE("a loop that is woken all the time for little lets more gather, up to a limit") {
    Woken loop;
    loop.pauses(100, 0ms, 3);
    const auto found = loop.pauses(60, 1ms, 3);
    CHECK(found[4] <= 2500us);
    CHECK(found.back() == 20ms);
}

TEST_CASE("a loop that finds much to do looks again soon") {
    Woken loop;
    loop.pauses(200, 1ms, 3);
    CHECK(loop.pauses(20, 1ms, 1000).back() < 100us);
}

TEST_CASE("a loop keeps the pause with which it finds enough to do") {
    Woken loop;
    const Duration found = loop.pauses(110, 1ms, 3).back();
    CHECK(found > 1ms);
    CHECK(loop.pauses(50, 1ms, 100).back() == found);
}

TEST_CASE("a loop that has become calm lets nothing wait any more") {
    Woken loop;
    loop.pauses(500, 1ms, 3);
    CHECK(none(loop.pauses(1, 3s, 1)));
    CHECK(none(loop.pauses(100, 1ms, 1)));
}

TEST_CASE("whatever comes while a loop pauses is done, until nothing is left or the context is stopped") {
    for (const int stop_after : {0, 250}) {
        CAPTURE(stop_after);
        boost::asio::io_context context{1};
        RoundPacer::Time now{1h};
        Duration paused{0};
        int done = 0;
        auto more_to_come = boost::asio::make_work_guard(context);
        const auto arrive = [&] {
            boost::asio::post(context, [&] {
                if (++done == stop_after) context.stop();
                if (done == 300) more_to_come.reset();
            });
        };
        arrive();
        const net::RoundClock clock = {.now =
                                           [&] {
                                               if (done < 300) arrive();
                                               return now;
                                           },
                                       .pause =
                                           [&](Duration pause) {
                                               now += pause;
                                               paused += pause;
                                           }};
        net::run_in_rounds(context, clock);
        CHECK(done == (stop_after == 0 ? 300 : stop_after));
        CHECK(paused > 1s);
    }
}
