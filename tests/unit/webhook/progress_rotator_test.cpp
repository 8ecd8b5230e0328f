#include "certificate/progress_rotator.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <set>

#include "certificate/serving_certificate.hpp"
#include "net/process/task_group.hpp"
#include "support/fake_api_server.hpp"
#include "support/printers.hpp"

using api::Json;
using namespace std::chrono_literals;
using webhook::member_of;

namespace {

// The only Secret of the API server.
struct Store {
    Json secret = {};  // null: there is none
    int version = 0;
    int writes = 0;
    bool away = false;

    api::Result<kube::Response> answer(const kube::Request& request) {
        if (away) return refusal(503, api::Errc::unavailable);
        if (request.method == "GET") {
            if (secret.is_null()) return refusal(404, api::Errc::not_found);
            return kube::Response{.body = api::to_json(secret)};
        }
        Json body = *api::parse_json(request.body);
        const Json given = std::as_const(body)["metadata"]["resourceVersion"];
        const bool fits =
            request.method == "PATCH"
                ? secret.is_null()
                : !secret.is_null() && given == std::as_const(secret)["metadata"]["resourceVersion"];
        if (!fits) return refusal(409, api::Errc::conflict);
        put(std::move(body));
        ++writes;
        return kube::Response{.body = api::to_json(secret)};
    }
    void put(Json object) {
        object["metadata"]["resourceVersion"] = std::to_string(++version);
        secret = std::move(object);
    }
};

struct Replica {
    Replica(boost::asio::io_context& context, VirtualClock& clock, Store& store, std::string name)
        : server(clock),
          tasks(context.get_executor()),
          tls(webhook::make_stand_in({}, {}).value()),
          rotator(server, clock,
                  {.secret = {"ns", "cert"},
                   .service = {"ns", "progress"},
                   .lifetime = 1000s,
                   .instance = std::move(name)},
                  *tls, log) {
        server.answer = [&store](const kube::Request& request) { return store.answer(request); };
        tasks.start(rotator.run(), [](const std::exception_ptr&) {});
    }
    FakeApiServer server;
    std::string lines = {};
    net::Log log{net::LogLevel::info, net::LogFormat::json, [this](auto line) { lines += line; }};
    net::TaskGroup tasks;
    std::shared_ptr<net::Tls> tls;
    webhook::ProgressCertificateRotator rotator;
};

struct World {
    boost::asio::io_context context{1};
    VirtualClock clock{context};
    Store store = {};
    std::vector<std::unique_ptr<Replica>> replicas = {};

    Replica& start(std::string name) {
        replicas.push_back(std::make_unique<Replica>(context, clock, store, std::move(name)));
        return *replicas.back();
    }
    ~World() {
        for (const auto& replica : replicas) replica->tasks.cancel();
        clock.run();
    }
    api::Time stored_end() const {
        return net::certificate_fields(member_of(store.secret, "tls.crt")).value().not_after;
    }
};

}  // namespace

TEST_CASE("replicas that start together create one certificate for progress and present it",
          "[progress-certificate]") {
    World world;
    for (const char* name : {"one", "two", "three"}) world.start(name);
    world.clock.run_for(1s);
    CHECK(world.store.writes == 1);
    for (const auto& replica : world.replicas) {
        CHECK(replica->rotator.in_use());
        CHECK(replica->tls->not_after() == world.stored_end());
    }
    CHECK(std::as_const(world.store.secret)["type"] == Json("kubernetes.io/tls"));
    CHECK(std::as_const(world.store.secret)["metadata"]["name"] == Json("cert"));
}

TEST_CASE("a renewed certificate for progress is of the CA that Pods trust, and all replicas present it",
          "[progress-certificate]") {
    World world;
    world.start("one");
    world.start("two");
    world.clock.run_for(1s);
    const std::string bundle = member_of(world.store.secret, "ca.crt");
    std::set<api::Time> ends;
    for (int i = 0; i < 100; ++i) {
        world.clock.run_for(30s);
        ends.insert(world.stored_end());
        for (const auto& replica : world.replicas)
            CHECK(replica->tls->not_after() > world.clock.wall() + 200s);
    }
    CHECK(ends.size() >= 4);
    CHECK(member_of(world.store.secret, "ca.crt") == bundle);
}

TEST_CASE("while the API server is down the certificate for progress stays in use",
          "[progress-certificate]") {
    World world;
    Replica& replica = world.start("one");
    world.store.away = true;
    world.clock.run_for(1min);
    CHECK_FALSE(replica.rotator.in_use());
    CHECK(replica.lines.find("cannot take care of the certificate for progress") != std::string::npos);
    world.store.away = false;
    world.clock.run_for(3s);
    CHECK(replica.rotator.in_use());
    const auto end = replica.tls->not_after();
    world.store.away = true;
    world.clock.run_for(10min);
    CHECK(replica.rotator.in_use());
    CHECK(replica.tls->not_after() == end);
}

TEST_CASE("a deleted Secret for progress is created again with another CA", "[progress-certificate]") {
    World world;
    Replica& replica = world.start("one");
    world.clock.run_for(1s);
    const std::string bundle = member_of(world.store.secret, "ca.crt");
    world.store.secret = Json();
    world.clock.run_for(1min);
    CHECK(member_of(world.store.secret, "ca.crt") != bundle);
    CHECK(replica.tls->not_after() == world.stored_end());
    CHECK(replica.lines.find("PRIVATE") == std::string::npos);
}
