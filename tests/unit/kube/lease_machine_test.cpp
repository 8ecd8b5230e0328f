#include "kube/manager/lease_machine.hpp"

#include <catch2/catch.hpp>

#include "fake_lease.hpp"
#include "support/fake_api_server.hpp"
#include "support/printers.hpp"

using namespace std::chrono_literals;
using api::Errc;
using api::Json;

namespace {

const kube::SteadyTime t0 = kube::SteadyTime(1000h);
const api::ObjectKey key = {"ns", "lease"};

// One candidate; the test makes each step.
struct Candidate {
    FakeLease& server;
    std::string name;
    // Clocks of machines differ; the result must not depend on them.
    std::chrono::seconds wall_skew{0};
    kube::LeaseMachine machine{key, name};
    bool cut_off = false;

    // Returns the requests that are due by `now`.
    void live_until(kube::SteadyTime now) {
        while (machine.next().at <= now) step(std::max(machine.next().at, asleep_until));
    }
    void step(kube::SteadyTime now) {
        const auto request =
            machine.request(now, VirtualClock::wall_start + wall_skew + (now - t0) / 1000 * 1000 / 1us * 1us);
        machine.answered(now,
                         cut_off ? api::Result<Json>(refusal(0, Errc::unavailable)) : server.handle(request));
    }
    kube::SteadyTime asleep_until = t0;
};

}  // namespace

TEST_CASE("the first candidate creates the lease and leads", "[kube]") {
    FakeLease server;
    Candidate a{server, "a"};
    CHECK(!a.machine.leading(t0));
    a.live_until(t0);
    CHECK(a.machine.leading(t0));
    CHECK(a.machine.holder() == "a");
    CHECK(server.requests == std::vector<std::string>{"GET", "POST"});
    const Json& spec = std::as_const(*server.lease)["spec"];
    CHECK(spec == *api::parse_json(
                      R"({"holderIdentity":"a","leaseDurationSeconds":15,"leaseTransitions":0,
                          "acquireTime":"2026-01-15T00:00:00.000000Z","renewTime":"2026-01-15T00:00:00.000000Z"})"));
}

TEST_CASE("a leader renews every two seconds with one request", "[kube]") {
    FakeLease server;
    Candidate a{server, "a"};
    a.live_until(t0);
    server.requests.clear();
    a.live_until(t0 + 10s);
    CHECK(server.requests == std::vector<std::string>(5, "PUT"));
    CHECK(server.spec("renewTime") == "2026-01-15T00:00:10.000000Z");
    CHECK(server.spec("acquireTime") == "2026-01-15T00:00:00.000000Z");
    CHECK(server.spec("leaseTransitions") == "0");
}

TEST_CASE("another candidate waits, and takes over", "[kube]") {
    FakeLease server;
    Candidate a{server, "a"};
    // Its wall clock is an hour ahead or behind, which must not matter.
    const auto skew = GENERATE(0s, 3600s, -3600s);
    Candidate b{server, "b", skew};
    a.live_until(t0);
    for (kube::SteadyTime now = t0; now < t0 + 60s; now += 1s) {
        a.live_until(now);
        b.live_until(now);
        REQUIRE(a.machine.leading(now));
        REQUIRE(!b.machine.leading(now));
        CHECK(b.machine.holder() == "a");
    }
    const kube::SteadyTime end = t0 + 60s;
    SECTION("within three seconds of a clean stop") {
        const auto release = a.machine.release(VirtualClock::wall_start);
        REQUIRE(release);
        REQUIRE(server.handle(*release));
        CHECK(!a.machine.leading(end));
        CHECK(server.spec("holderIdentity").empty());
        CHECK(server.spec("leaseDurationSeconds") == "1");
        CHECK(server.spec("leaseTransitions") == "0");
        b.live_until(end + 3s);
        CHECK(b.machine.leading(end + 3s));
        CHECK(server.spec("leaseTransitions") == "1");
    }
    SECTION("within twenty seconds of a crash, and not before fifteen") {
        b.live_until(end + 12s);
        CHECK(!b.machine.leading(end + 12s));
        b.live_until(end + 20s);
        CHECK(b.machine.leading(end + 20s));
        CHECK(server.spec("leaseTransitions") == "1");
        CHECK(server.spec("holderIdentity") == "b");

        // The stopped process continues as a former leader.
        CHECK(!a.machine.leading(end + 20s));
        a.asleep_until = end + 20s;
        a.live_until(end + 20s);
        CHECK(!a.machine.leading(end + 20s));
        CHECK(a.machine.holder() == "b");
        CHECK(server.spec("holderIdentity") == "b");
    }
}

TEST_CASE("there are never two leaders", "[kube]") {
    // The leader is cut off at every moment, and the other one takes over, in turns.
    for (const auto cut_at : {20s, 21s, 22s, 23s}) {
        FakeLease server;
        Candidate a{server, "a"};
        Candidate b{server, "b"};
        int takeovers = 0;
        bool a_led = false;
        for (kube::SteadyTime now = t0; now < t0 + 300s; now += 250ms) {
            const bool a_is_cut = (now - t0) % 80s > cut_at && (now - t0) % 80s < 60s;
            a.cut_off = a_is_cut;
            b.cut_off = !a_is_cut && (now - t0) % 80s >= 60s;
            a.live_until(now);
            b.live_until(now);
            CHECK(!(a.machine.leading(now) && b.machine.leading(now)));
            if (b.machine.leading(now) && a_led) ++takeovers, a_led = false;
            if (a.machine.leading(now)) a_led = true;
        }
        CHECK(takeovers >= 2);
    }
}

TEST_CASE("a leader that cannot renew stops leading after ten seconds", "[kube]") {
    FakeLease server;
    Candidate a{server, "a"};
    a.live_until(t0);
    a.cut_off = true;
    REQUIRE(a.machine.next().give_up);
    CHECK(*a.machine.next().give_up == t0 + 10s);
    a.live_until(t0 + 9s);
    CHECK(a.machine.leading(t0 + 9999ms));
    CHECK(!a.machine.leading(t0 + 10s));
    SECTION("and leads again if no other took the lease") {
        a.live_until(t0 + 12s);
        a.cut_off = false;
        a.live_until(t0 + 14s);
        CHECK(a.machine.leading(t0 + 14s));
        CHECK(server.spec("leaseTransitions") == "0");
    }
    SECTION("a renewal counts from the time of its request") {
        Candidate slow{server, "a"};
        slow.machine.answered(t0, server.handle(slow.machine.request(t0, VirtualClock::wall_start)));
        const auto take = slow.machine.request(t0, VirtualClock::wall_start);
        slow.machine.answered(t0 + 9s, server.handle(take));
        CHECK(slow.machine.leading(t0 + 9s));
        CHECK(!slow.machine.leading(t0 + 10s));
    }
}

TEST_CASE("lost updates", "[kube]") {
    FakeLease server;
    Candidate a{server, "a"};
    a.live_until(t0);
    SECTION("a user edits the lease of a leader: it goes on") {
        server.touch();
        a.live_until(t0 + 5s);
        CHECK(a.machine.leading(t0 + 5s));
        CHECK(server.conflicts == 1);
        CHECK(std::as_const(*server.lease)["metadata"]["annotations"]["edited"] == Json("yes"));
        CHECK(server.spec("holderIdentity") == "a");
    }
    SECTION("another holder takes the lease: it stops leading at once") {
        server.set("holderIdentity", "thief");
        a.live_until(t0 + 2s + 500ms);
        CHECK(!a.machine.leading(t0 + 2s + 500ms));
        CHECK(a.machine.holder() == "thief");
        CHECK(server.spec("holderIdentity") == "thief");
    }
    SECTION("a user deletes the lease: it is created again") {
        server.lease.reset();
        a.live_until(t0 + 5s);
        CHECK(a.machine.leading(t0 + 5s));
        CHECK(server.spec("holderIdentity") == "a");
    }
    SECTION("a renewal was stored but its answer was lost") {
        const auto renewal = a.machine.request(t0 + 2s, VirtualClock::wall_start);
        REQUIRE(server.handle(renewal));
        a.machine.answered(t0 + 3s, refusal(0, Errc::unavailable));
        a.live_until(t0 + 6s);
        CHECK(a.machine.leading(t0 + 12s));
    }
    SECTION("two candidates for a free lease: one wins") {
        server.set("holderIdentity", "");
        Candidate b{server, "b"};
        Candidate c{server, "c"};
        b.machine.answered(t0, server.handle(b.machine.request(t0, {})));
        c.machine.answered(t0, server.handle(c.machine.request(t0, {})));
        b.step(t0);
        c.step(t0);
        CHECK(b.machine.leading(t0));
        CHECK(!c.machine.leading(t0));
        CHECK(server.conflicts == 1);
        c.live_until(t0 + 2s);
        CHECK(!c.machine.leading(t0 + 2s));
        CHECK(c.machine.holder() == "b");
    }
}

TEST_CASE("a lease of client-go is honoured, and taken over when it has expired", "[kube]") {
    FakeLease server;
    server.lease = *api::parse_json(
        R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease",
            "metadata":{"name":"lease","namespace":"ns","resourceVersion":"100","managedFields":[{"manager":"x"}],"labels":{"l":"v"}},
            "spec":{"holderIdentity":"trainer-7d_abc","leaseDurationSeconds":15,"leaseTransitions":4,
                    "acquireTime":"2020-01-01T00:00:00.000000Z","renewTime":"2020-01-01T00:00:00.000000Z"}})");
    Candidate a{server, "a"};
    SECTION("although its time seems long past") {
        a.live_until(t0 + 14s);
        CHECK(!a.machine.leading(t0 + 14s));
        a.live_until(t0 + 17s);
        CHECK(a.machine.leading(t0 + 17s));
        CHECK(server.spec("leaseTransitions") == "5");
        CHECK(std::as_const(*server.lease)["metadata"]["labels"]["l"] == Json("v"));
        CHECK(!std::as_const(*server.lease)["metadata"].contains("managedFields"));
    }
    SECTION("and its duration counts, not ours") {
        server.set("leaseDurationSeconds", 60);
        a.live_until(t0 + 58s);
        CHECK(!a.machine.leading(t0 + 58s));
        a.live_until(t0 + 62s);
        CHECK(a.machine.leading(t0 + 62s));
    }
    SECTION("as client-go leaves it after an orderly stop") {
        server.set("holderIdentity", "");
        server.set("leaseDurationSeconds", 1);
        a.live_until(t0);
        CHECK(a.machine.leading(t0));
    }
    SECTION("a lease with invalid fields is taken") {
        for (const char* spec : {"null", "{}", R"({"holderIdentity":7,"leaseTransitions":"x"})"}) {
            (*server.lease)["spec"] = *api::parse_json(spec);
            Candidate b{server, "b"};
            b.live_until(t0);
            CHECK(b.machine.leading(t0));
        }
    }
}

TEST_CASE("errors of the lease cause no busy loop", "[kube]") {
    FakeLease server;
    Candidate a{server, "a"};
    auto error = refusal(429, Errc::unavailable);
    SECTION("Retry-After") {
        error.retry_after = 4s;
        a.machine.request(t0, {});
        a.machine.answered(t0, error);
        CHECK(a.machine.next().at == t0 + 4s);
    }
    SECTION("a Retry-After for longer than a takeover may take") {
        error.retry_after = 1h;
        a.machine.request(t0, {});
        a.machine.answered(t0, error);
        CHECK(a.machine.next().at == t0 + 5s);
    }
    SECTION("a missing permission") {
        a.machine.request(t0, {});
        a.machine.answered(t0, refusal(403, Errc::forbidden));
        CHECK(a.machine.next().at == t0 + 2s);
    }
    SECTION("no such namespace") {
        for (kube::SteadyTime now = t0; now < t0 + 20s; now = a.machine.next().at) {
            const auto request = a.machine.request(now, {});
            server.requests.push_back(request.method);
            a.machine.answered(now, refusal(404, Errc::not_found));
        }
        CHECK(server.requests.size() <= 20);
    }
    SECTION("no such namespace any more, while leading") {
        a.live_until(t0);
        int requests = 0;
        for (kube::SteadyTime now = t0 + 2s; now < t0 + 22s && requests < 1000; now = a.machine.next().at) {
            a.machine.request(now, {});
            a.machine.answered(now, refusal(404, Errc::not_found));
            ++requests;
        }
        CHECK(requests <= 30);
    }
    SECTION("nothing but conflicts") {
        int requests = 0;
        a.live_until(t0);
        for (kube::SteadyTime now = t0 + 2s; now < t0 + 12s; now = a.machine.next().at, ++requests) {
            const auto request = a.machine.request(now, {});
            a.machine.answered(now, request.method == "GET"
                                        ? server.handle(request)
                                        : api::Result<Json>(refusal(409, Errc::conflict)));
        }
        CHECK(requests <= 120);
        CHECK(!a.machine.leading(t0 + 12s));
    }
}
