#include "kube/manager/leader_elector.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>

#include "fake_lease.hpp"
#include "support/fake_api_server.hpp"

using namespace std::chrono_literals;
using api::Errc;
using Reports = std::vector<std::string>;

namespace {

struct World {
    boost::asio::io_context context;
    VirtualClock clock{context};
    FakeLease lease;
};

// One candidate for the lease.
struct Process {
    World& world;
    std::string name;
    Reports reported;
    std::vector<api::Time> stored = {};
    FakeApiServer server{world.clock};
    kube::LeaderElector elector;
    boost::asio::cancellation_signal stop;
    bool ended = false;

    Process(World& in, std::string called)
        : world(in),
          name(std::move(called)),
          elector(server, world.clock, {"ns", "lease"}, name,
                  {.started = [this] { reported.push_back("started"); },
                   .stopped = [this] { reported.push_back("stopped"); },
                   .observed = [this](const std::string& holder) { reported.push_back("holder " + holder); },
                   .error =
                       [this](const api::Error* error) {
                           reported.push_back(error ? "error " + error->message : "no error");
                       },
                   .stored = [this](const kube::DatedAnswer& answer) { stored.push_back(answer.date); }}) {
        server.answer = [this](const kube::Request& request) -> api::Result<kube::Response> {
            const auto lease = world.lease.handle(request);
            if (!lease) return lease.error();
            return kube::Response{.body = api::to_json(*lease)};
        };
        boost::asio::co_spawn(
            world.context, elector.run(),
            boost::asio::bind_cancellation_slot(stop.slot(), [this](std::exception_ptr) { ended = true; }));
    }
    ~Process() { cancel(); }
    void cancel() {
        stop.emit(boost::asio::cancellation_type::terminal);
        world.clock.run();
        CHECK(ended);
    }
    void release() {
        bool released = false;
        boost::asio::co_spawn(world.context, elector.release(), [&](std::exception_ptr) { released = true; });
        world.clock.run_for(11s);
        CHECK(released);
    }
    void break_network(const std::string& why) {
        server.answer = [why](const kube::Request&) {
            return api::Result<kube::Response>(refusal(0, Errc::unavailable, why));
        };
    }
    Reports take() { return std::exchange(reported, {}); }
};

}  // namespace

TEST_CASE("an elector leads, and releases the lease on an orderly stop", "[kube]") {
    World world;
    Process a(world, "a");
    world.clock.run();
    CHECK(a.elector.leading());
    CHECK(a.take() == Reports{"started"});
    Process b(world, "b");
    world.clock.run_for(60s);
    CHECK(b.take() == Reports{"holder a"});
    a.cancel();
    bool released = false;
    boost::asio::co_spawn(world.context, a.elector.release(), [&](std::exception_ptr) { released = true; });
    world.clock.run_for(3s);
    CHECK(released);
    CHECK(!a.elector.leading());
    CHECK(b.elector.leading());
    CHECK(b.take() == Reports{"holder ", "started"});
    CHECK(a.take().empty());  // an orderly stop is no loss
}

TEST_CASE("an elector takes over the lease of a process that has disappeared", "[kube]") {
    World world;
    auto a = std::make_unique<Process>(world, "a");
    world.clock.run();
    Process b(world, "b");
    world.clock.run_for(10s);
    a.reset();
    world.clock.run_for(12s);
    CHECK(!b.elector.leading());
    world.clock.run_for(8s);
    CHECK(b.elector.leading());
}

TEST_CASE("an elector that cannot renew stops leading in time", "[kube]") {
    World world;
    Process a(world, "a");
    world.clock.run();
    a.take();
    SECTION("refused") {
        a.break_network("refused");
        world.clock.run_for(9s);
        CHECK(a.elector.leading());
        world.clock.run_for(3s);
        CHECK(!a.elector.leading());
        CHECK(a.take() == Reports{"error refused", "stopped"});
    }
    SECTION("unanswered") {
        a.server.delay = 1h;
        world.clock.run_for(9999ms);
        CHECK(a.elector.leading());
        CHECK(a.reported.empty());
        world.clock.run_for(1ms);
        CHECK(!a.elector.leading());
        CHECK(a.reported.front() == "stopped");
    }
    SECTION("a process that was stopped and continues does not lead") {
        world.clock.freeze_for(10s);
        CHECK(!a.elector.leading());
        Process b(world, "b");
        world.lease.set("holderIdentity", "b");
        world.clock.run_for(1s);
        CHECK(a.take() == Reports{"stopped", "holder b"});
    }
}

TEST_CASE("a gap in leadership is reported even if it is over when it is noticed", "[kube]") {
    World world;
    Process a(world, "a");
    world.clock.run();
    CHECK(a.take() == Reports{"started"});
    const auto good = a.server.answer;
    a.break_network("refused");
    world.clock.run_for(7s);
    CHECK(a.take() == Reports{"error refused"});
    // The renewal of second 8 is answered in second 9, but the process sleeps until second 11. It did not
    // lead from second 10 on, and leads again with that answer.
    a.server.answer = good;
    a.server.delay = 1s;
    world.clock.run_for(1s);
    world.clock.freeze_for(3s);
    CHECK(!a.elector.leading());
    world.clock.run();
    CHECK(a.elector.leading());
    CHECK(a.take() == Reports{"stopped", "started", "no error"});
}

TEST_CASE("an error and its end are reported once", "[kube]") {
    World world;
    Process a(world, "a");
    const auto good = a.server.answer;
    a.server.answer = [](const kube::Request&) {
        return api::Result<kube::Response>(refusal(403, Errc::forbidden, "may not"));
    };
    world.clock.run_for(30s);
    CHECK(a.take() == Reports{"error may not"});
    a.break_network("no connection");
    world.clock.run_for(7s);
    a.server.answer = [](const kube::Request&) {
        return api::Result<kube::Response>(refusal(503, Errc::unavailable, "starting"));
    };
    world.clock.run_for(5s);
    CHECK(a.take() == Reports{"error no connection"});
    a.server.answer = good;
    world.clock.run_for(5s);
    CHECK(a.take() == Reports{"started", "no error"});

    a.server.answer = [](const kube::Request& request) {
        return api::Result<kube::Response>(request.method == "GET"
                                               ? refusal(404, Errc::not_found, "no lease")
                                               : refusal(404, Errc::not_found, "no namespace"));
    };
    world.clock.run_for(5s);
    const Reports reported = a.take();
    CHECK(std::count(reported.begin(), reported.end(), "error no namespace") == 1);
}

TEST_CASE("the release of the lease works after a cancelled renewal", "[kube]") {
    World world;
    Process a(world, "a");
    world.clock.run();
    SECTION("an edit in between") {
        a.cancel();
        world.lease.touch();
        a.release();
        CHECK(world.lease.spec("holderIdentity").empty());
    }
    SECTION("the lease has another holder") {
        a.cancel();
        world.lease.set("holderIdentity", "b");
        a.release();
        CHECK(world.lease.spec("holderIdentity") == "b");
    }
    SECTION("the API server is gone") {
        a.cancel();
        a.server.delay = 1h;
        a.release();
        CHECK(world.lease.spec("holderIdentity") == "a");
    }
    SECTION("a renewal was under way") {
        a.server.delay = 1s;
        world.clock.run_for(2500ms);
        a.cancel();
        a.server.delay = 0s;
        a.release();
        CHECK(world.lease.spec("holderIdentity").empty());
    }
}

TEST_CASE(
    "the time that the API server has stored for a renewal is told, not that of another manager's write",
    "[kube]") {
    World world;
    world.lease.managed_fields =
        *api::parse_json(R"([{"time":"2026-01-16T00:00:00Z","fieldsV1":{"f:metadata":{"f:labels":{}}}},
                             {"time":"2026-01-15T00:00:00Z","fieldsV1":{"f:spec":{"f:renewTime":{}}}}])");
    Process process(world, "a");
    world.clock.run_for(1s);
    CHECK(process.stored == std::vector<api::Time>{*api::as_time("2026-01-15T00:00:00Z")});
}
