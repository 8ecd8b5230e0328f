#include "net/process/poll_pacer.hpp"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <vector>

namespace {

using namespace std::chrono_literals;
using net::PollPacer;
using Duration = PollPacer::Duration;

// A loop with a round `every` so often, or later by its pauses, in which `handlers` are ready.
class Woken {
public:
    std::vector<Duration> pauses(int rounds, Duration every, std::size_t handlers) {
        std::vector<Duration> found;
        for (int i = 0; i < rounds; ++i) {
            now_ += std::max(every, found.empty() ? Duration{0} : found.back());
            found.push_back(pacer_.pause_after(handlers, now_, net::unlimited));
        }
        return found;
    }

private:
    PollPacer pacer_;
    PollPacer::Time now_{1h};
};

struct Answers {
    std::size_t handlers = 3;   // of each handler
    std::size_t in_pieces = 0;  // one of so many comes in two, the second a millisecond after the first
};

// A server needs this long for each answer, and gets the next request when an answer was handled.
int answers_in_three_seconds(std::size_t slots, Duration latency, const Answers& kind) {
    struct Slot {
        PollPacer::Time due;
        bool rest_to_come;
    };
    PollPacer pacer;
    const PollPacer::Time start{1h};
    std::size_t asked = 0;
    const auto ask = [&](PollPacer::Time now) {
        return Slot{now + latency, kind.in_pieces > 0 && ++asked % kind.in_pieces == 0};
    };
    std::vector<Slot> waiting;
    for (std::size_t i = 0; i < slots; ++i) waiting.push_back(ask(start + i * 300us));
    int answers = 0;
    for (PollPacer::Time now = start; now < start + 3s;) {
        std::size_t handled = 0;
        for (Slot& slot : waiting) {
            if (slot.due > now) continue;
            handled += slot.rest_to_come ? 1 : kind.handlers;
            answers += !slot.rest_to_come;
            slot = slot.rest_to_come ? Slot{now + 1ms, false} : ask(now);
        }
        if (handled > 0) now += pacer.pause_after(handled, now, slots);
        const auto earliest = std::min_element(waiting.begin(), waiting.end(),
                                               [](const Slot& a, const Slot& b) { return a.due < b.due; });
        now = std::max(now, earliest->due);
    }
    return answers;
}

bool none(const std::vector<Duration>& pauses) {
    return std::all_of(pauses.begin(), pauses.end(), [](Duration pause) { return pause == 0us; });
}

}  // namespace

TEST_CASE("a loop with little work, or much for a moment, does not pause") {
    CHECK(none(Woken().pauses(1000, 5ms, 2)));
    CHECK(none(Woken().pauses(330, 0ms, 3)));
    CHECK_FALSE(none(Woken().pauses(340, 0ms, 3)));
}

TEST_CASE("no handler is delayed when ten jobs a second come, run and end") {
    Woken loop;
    for (int job = 0; job < 600; ++job) {
        CHECK(none(loop.pauses(46, 1ms, 3)));
        CHECK(none(loop.pauses(1, 54ms, 2)));
    }
}

TEST_CASE("a loop with a little work all the time pauses longer, up to a limit") {
    Woken loop;
    CHECK(loop.pauses(1000, 1ms, 40).back() == 20ms);
    Woken other;
    other.pauses(333, 0ms, 3);
    CHECK(other.pauses(5, 0ms, 3).back() <= 2500us);
}

TEST_CASE("a loop that finds much work polls again soon") {
    Woken loop;
    loop.pauses(1000, 1ms, 30);
    CHECK(loop.pauses(20, 1ms, 1000).back() < 100us);
}

TEST_CASE("a loop keeps the pause after which it finds enough work") {
    Woken loop;
    loop.pauses(40, 1ms, 30);
    const Duration found = loop.pauses(10, 1ms, 30).back();
    CHECK(found > 1ms);
    CHECK(loop.pauses(50, 1ms, 100).back() == found);
}

TEST_CASE("a loop that expects a number of completions does not pause longer than they take") {
    for (const std::size_t slots : {1u, 2u, 8u, 16u, 32u, 64u})
        for (const Duration latency : {1ms, 5ms, 50ms})
            for (const std::size_t handlers : {2u, 3u, 4u})
                for (const std::size_t in_pieces : {0u, 1u, 4u}) {
                    CAPTURE(slots, latency.count(), handlers, in_pieces);
                    const Duration longest = in_pieces == 0 ? latency : latency + 1ms;
                    const double most = static_cast<double>(slots) * 3s / longest;
                    CHECK(answers_in_three_seconds(slots, latency, {handlers, in_pieces}) > 0.5 * most);
                }
}

TEST_CASE("a loop whose work has decreased does not pause any more") {
    Woken loop;
    loop.pauses(500, 1ms, 30);
    CHECK(none(loop.pauses(1, 3s, 1)));
    CHECK(none(loop.pauses(300, 1ms, 3)));
}

TEST_CASE("handlers that become ready during a pause run, until none is left or the context is stopped") {
    for (const int stop_after : {0, 1500}) {
        CAPTURE(stop_after);
        boost::asio::io_context context{1};
        PollPacer::Time now{1h};
        Duration paused{0};
        int arrived = 0;
        int done = 0;
        auto more_to_come = boost::asio::make_work_guard(context);
        const auto arrive = [&] {
            if (arrived == 2000) return;
            ++arrived;
            boost::asio::post(context, [&] {
                if (++done == stop_after) context.stop();
                if (done == 2000) more_to_come.reset();
            });
        };
        arrive();
        const net::RoundClock clock = {.now =
                                           [&] {
                                               for (int i = 0; i < 10; ++i) arrive();
                                               return now;
                                           },
                                       .pause =
                                           [&](Duration pause) {
                                               now += pause;
                                               paused += pause;
                                           }};
        net::run_paced(
            context, [] { return net::unlimited; }, clock);
        CHECK(done == (stop_after == 0 ? 2000 : stop_after));
        CHECK(paused > 100ms);
    }
}
