#include "kube/client/server_clock.hpp"

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "kube/client/api_server.hpp"
#include "support/printers.hpp"
#include "support/virtual_clock.hpp"

using namespace std::chrono_literals;
using kube::ServerClock;

namespace {

// This node with a wall clock that is `ahead`, and an API server whose clock is right. Time passes on the way
// of a request and of its answer.
struct Cluster {
    explicit Cluster(std::chrono::microseconds ahead = 0s) : own(time, ahead) {}

    /// Asks an API server whose clock is ahead of the right one.
    void ask(std::chrono::microseconds server_ahead = 0s) {
        const kube::SteadyTime sent = time.now();
        time.freeze_for(there);
        const auto date = std::chrono::floor<std::chrono::seconds>(right() + server_ahead);
        time.freeze_for(back);
        clock.note({.date = date, .sent = sent, .came = time.now()});
    }
    void ask_for(std::chrono::seconds duration, std::chrono::microseconds server_ahead = 0s,
                 std::chrono::milliseconds pause = 2300ms) {
        for (const auto end = time.now() + duration; time.now() < end; time.freeze_for(pause))
            ask(server_ahead);
    }
    kube::MicroTime right() const { return time.wall(); }
    double late() const { return std::chrono::duration<double>(right() - clock.wall()).count(); }

    std::chrono::milliseconds there = 0ms;
    std::chrono::milliseconds back = 0ms;
    boost::asio::io_context context = {};
    VirtualClock time{context};

    struct Own final : kube::Clock {
        Own(VirtualClock& of, std::chrono::microseconds by) : time(of), ahead(by) {}
        kube::SteadyTime now() const override { return time.now(); }
        kube::MicroTime wall() const override { return time.wall() + ahead; }
        kube::Task<> sleep_until(kube::SteadyTime when) override { return time.sleep_until(when); }
        double jitter() override { return 0; }
        VirtualClock& time;
        std::chrono::microseconds ahead;
    };
    Own own;
    ServerClock clock{own};
};

}  // namespace

TEST_CASE("the API server's clock is known from its first answer, whatever this node's clock shows",
          "[kube]") {
    for (const auto ahead : {0h, 24h, -24h}) {
        Cluster cluster(ahead);
        CHECK_FALSE(cluster.clock.is_certain());
        CHECK(cluster.clock.wall() == cluster.own.wall());
        cluster.ask();
        CHECK(cluster.clock.is_certain());
        CHECK(cluster.late() >= 0);
        CHECK(cluster.late() <= 1);
    }
}

TEST_CASE("the clock is never ahead of the API server's, and behind by little more than the way back",
          "[kube]") {
    for (const auto there : {0ms, 10ms, 499ms, 20'000ms})
        for (const auto back : {0ms, 10ms, 499ms, 20'000ms}) {
            Cluster cluster;
            cluster.there = there;
            cluster.back = back;
            double most = 0;
            for (int i = 0; i < 300; ++i) {
                cluster.ask_for(1s, 0s, 1337ms);
                CHECK(cluster.late() >= 0);
                CHECK(cluster.clock.is_certain());
                if (i > 30) most = std::max(most, cluster.late());
            }
            CHECK(most <= std::chrono::duration<double>(back).count() + 1);
            if (there + back < 100ms) CHECK(most < 0.2);
        }
}

TEST_CASE("a clock that was set is uncertain until its answers have agreed for two minutes", "[kube]") {
    for (const auto step : {-24h, -1h, 1h, 24h}) {
        Cluster cluster;
        cluster.ask_for(60s);
        cluster.own.ahead = std::chrono::minutes(step) / 2;  // it may be set at another time
        cluster.ask_for(110s, step);
        CHECK_FALSE(cluster.clock.is_certain());
        cluster.ask_for(20s, step);
        CHECK(cluster.clock.is_certain());
        CHECK(cluster.late() + std::chrono::duration<double>(step).count() == Approx(0).margin(1.1));
    }
}

TEST_CASE("a new time is not believed while this node's clock agrees with the former one", "[kube]") {
    Cluster cluster;
    cluster.ask_for(60s);
    cluster.ask_for(1h, 24h);
    CHECK_FALSE(cluster.clock.is_certain());
    CHECK(cluster.late() >= 0);
    CHECK(cluster.late() <= 5);
    SECTION("until the node is set") {
        cluster.own.ahead = 24h;
        cluster.ask(24h);
        CHECK(cluster.clock.is_certain());
    }
    SECTION("until the API server is set") {
        cluster.ask_for(130s);
        CHECK(cluster.clock.is_certain());
        CHECK(cluster.late() <= 1);
    }
}

TEST_CASE("an answer that contradicts the others makes the clock uncertain for two minutes", "[kube]") {
    Cluster cluster;
    cluster.ask_for(60s);
    cluster.ask(40s);
    CHECK_FALSE(cluster.clock.is_certain());
    cluster.ask_for(110s);
    CHECK_FALSE(cluster.clock.is_certain());
    CHECK(cluster.late() <= 1);
    cluster.ask_for(20s);
    CHECK(cluster.clock.is_certain());
}

TEST_CASE("servers that never agree leave the clock uncertain", "[kube]") {
    Cluster cluster;
    for (int i = 0; i < 300; ++i) {
        cluster.ask_for(3s, i % 2 == 0 ? 0s : 60s);
        if (i > 0) CHECK_FALSE(cluster.clock.is_certain());
    }
}

TEST_CASE("a contradiction counts until it is settled, however long no other answer comes", "[kube]") {
    Cluster cluster(-2h);
    cluster.ask_for(60s);
    cluster.ask(1h);
    cluster.time.freeze_for(1h);
    CHECK_FALSE(cluster.clock.is_certain());
    cluster.ask(1h);
    CHECK(cluster.clock.is_certain());
}

TEST_CASE("while two clocks contradict each other, this node's decides about the time", "[kube]") {
    SECTION("which is right, as after the sleep of a laptop") {
        Cluster cluster;
        cluster.ask_for(60s, -8h);
        cluster.ask();
        CHECK(cluster.late() >= 0);
        CHECK(cluster.late() <= 1);
    }
    SECTION("and if it is wrong as well, the later one counts, until an answer agrees with the former") {
        Cluster cluster(24h);
        cluster.ask_for(60s);
        cluster.ask(-1h);
        CHECK(cluster.late() <= 1);
        cluster.ask(1h);
        CHECK(cluster.late() <= 1 - 3600);
        cluster.ask();
        CHECK(cluster.late() >= 0);
        CHECK(cluster.late() <= 1);
    }
}

TEST_CASE("while answers contradict each other in turns, this node's clock decides between all of them",
          "[kube]") {
    Cluster cluster;
    cluster.ask(-30h);
    for (int i = 0; i < 3; ++i) {
        cluster.ask();
        CHECK(cluster.late() <= 1);
        cluster.ask(-30h);
        CHECK(cluster.late() <= 1);
    }
    CHECK_FALSE(cluster.clock.is_certain());
    cluster.ask_for(250s);
    CHECK(cluster.clock.is_certain());
    CHECK(cluster.late() <= 1);
}

TEST_CASE("clocks of several API servers may differ by half a minute: the earliest counts", "[kube]") {
    Cluster cluster;
    for (int i = 0; i < 100; ++i) cluster.ask_for(2s, i % 2 == 0 ? 0s : 28s);
    CHECK(cluster.clock.is_certain());
    CHECK(cluster.late() >= 0);
    CHECK(cluster.late() <= 1.1);
}

TEST_CASE("a steady clock that drifts is no contradiction, even after days without an answer", "[kube]") {
    Cluster cluster;
    cluster.ask_for(60s);
    const auto days = 72h;
    cluster.time.freeze_for(days);
    cluster.ask(std::chrono::duration_cast<std::chrono::microseconds>(days) / 2000);
    CHECK(cluster.clock.is_certain());
}

TEST_CASE("a Date header is read in its only form", "[kube]") {
    CHECK(kube::parse_http_date("Mon, 23 Nov 2026 10:00:01 GMT") == api::as_time("2026-11-23T10:00:01Z"));
    for (const char* broken :
         {"", "Mon, 23 Nov 2026 10:00:01 UTC", "Monday, 23-Nov-26 10:00:01 GMT", "Mon Nov 23 10:00:01 2026",
          "Mon, 23 Foo 2026 10:00:01 GMT", "Mon, 33 Nov 2026 10:00:01 GMT", "Mon, 23 Nov 2026 10:00:01 GMT "})
        CHECK_FALSE(kube::parse_http_date(broken));
}
