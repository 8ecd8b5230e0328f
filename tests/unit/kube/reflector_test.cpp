#include "kube/watch/reflector.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>

#include "recording_sink.hpp"
#include "support/fake_api_server.hpp"

using namespace std::chrono_literals;
using api::Errc;

namespace {

struct Fixture {
    boost::asio::io_context context;
    VirtualClock clock{context};
    FakeApiServer server{clock};
    RecordingSink sink;
    std::vector<std::string> changes;
    kube::Reflector reflector{
        server,
        clock,
        sink,
        {.resource = kube::resources::train_jobs},
        [this](const kube::Scope& scope, const api::Error* error) {
            changes.push_back(to_string(scope.resource) + ": " + (error ? error->message : "works"));
        }};
    boost::asio::cancellation_signal stop;
    bool ended = false;

    Fixture() {
        boost::asio::co_spawn(
            context, reflector.run(),
            boost::asio::bind_cancellation_slot(stop.slot(), [this](std::exception_ptr) { ended = true; }));
    }
    ~Fixture() {
        stop.emit(boost::asio::cancellation_type::terminal);
        clock.run();
        CHECK(ended);
        CHECK(server.open_watches == 0);
        CHECK(clock.sleepers() == 0);
    }
    // Returns the targets of the requests so far, without the path, and clears them.
    std::vector<std::string> asked() {
        std::vector<std::string> queries;
        for (const auto& request : server.requests) {
            const auto& t = request.target;
            if (t.find("sendInitialEvents") != std::string::npos)
                queries.push_back("stream");
            else if (t.find("watch=true") != std::string::npos)
                queries.push_back("watch" + t.substr(t.rfind('=')));
            else
                queries.push_back("list");
        }
        server.requests.clear();
        return queries;
    }
};

using Closed = FakeApiServer::Closed;
using Silence = FakeApiServer::Silence;
using Script = FakeApiServer::Script;

const std::string works = "trainjobs.trainer.kubeflow.org: works";

}  // namespace

TEST_CASE("a reflector lists, watches, and resumes", "[kube]") {
    Fixture fixture;
    fixture.server.watches = {
        Script{event("ADDED", "a", "5"), end_of_list("9"), 400s, Closed{}},
        Script{event("DELETED", "a", "10"), 200s, refusal(0, Errc::unavailable, "reset")}, Script{Silence{}}};
    fixture.clock.run();
    CHECK(fixture.asked() == Reports{"stream"});
    CHECK(fixture.reflector.synced());
    CHECK(fixture.changes == Reports{works});
    fixture.clock.run_for(399s);
    CHECK(fixture.asked().empty());
    fixture.clock.run_for(1s);
    CHECK(fixture.asked() == Reports{"watch=9"});
    fixture.clock.run_for(200s);
    CHECK(fixture.asked() == Reports{"watch=10"});
    CHECK(fixture.sink.reported == Reports{"listing", "+ns/a@5", "synced@9", "-ns/a@10"});
    CHECK(fixture.changes == Reports{works});
    CHECK(fixture.server.open_watches == 1);
}

TEST_CASE("a reflector waits for a kind that is not served, and reports it once", "[kube]") {
    Fixture fixture;
    for (int i = 0; i < 5; ++i) fixture.server.watches.push_back(refusal(0, Errc::unavailable, "refused"));
    fixture.server.watches.push_back(refusal(503, Errc::unavailable, "starting"));
    fixture.server.watches.push_back(refusal(429, Errc::unavailable, "storage is (re)initializing"));
    for (int i = 0; i < 5; ++i) fixture.server.watches.push_back(refusal(404, Errc::not_found, "no CRD"));
    for (int i = 0; i < 5; ++i) fixture.server.watches.push_back(refusal(403, Errc::forbidden, "RBAC"));
    fixture.server.watches.push_back(Script{end_of_list("9"), Silence{}});
    fixture.clock.run_for(10min);
    CHECK(fixture.asked().size() == 18);
    const std::string beginning = "trainjobs.trainer.kubeflow.org: ";
    // Another message for the same error is not reported; the last line comes once it works.
    CHECK(fixture.changes ==
          Reports{beginning + "refused", beginning + "no CRD", beginning + "RBAC", beginning + "works"});
    CHECK(fixture.reflector.synced());
}

TEST_CASE("a reflector falls back to pages", "[kube]") {
    Fixture fixture;
    fixture.server.watches = {refusal(400, Errc::invalid), Script{event("ADDED", "b", "12"), Silence{}}};
    fixture.server.answer = [](const kube::Request&) {
        return kube::Response{
            .body =
                R"({"metadata":{"resourceVersion":"11"},"items":[{"metadata":{"name":"a","resourceVersion":"3"}}]})"};
    };
    fixture.clock.run();
    CHECK(fixture.asked() == Reports{"stream", "list", "watch=11"});
    CHECK(fixture.sink.reported == Reports{"listing", "+a@3", "synced@11", "+ns/b@12"});
    CHECK(fixture.changes == Reports{works});
}

TEST_CASE("a reflector lists again when its resource version has expired", "[kube]") {
    Fixture fixture;
    fixture.server.watches = {
        Script{event("ADDED", "a", "5"), end_of_list("9"), 10s, error_event(410, "Expired")},
        Script{end_of_list("20"), Silence{}}};
    fixture.clock.run_for(20s);
    CHECK(fixture.asked() == Reports{"stream", "stream"});
    CHECK(fixture.sink.reported == Reports{"listing", "+ns/a@5", "synced@9", "listing", "synced@20"});
    CHECK(fixture.changes == Reports{works});
}

TEST_CASE("between the lines of a burst, other handlers run", "[kube]") {
    Fixture fixture;
    Script script;
    for (int i = 0; i < 1000; ++i)
        script.push_back(event("ADDED", "a" + std::to_string(i), std::to_string(i + 1)));
    script.push_back(end_of_list("1000"));
    script.push_back(Silence{});
    fixture.server.watches = {script};
    fixture.context.poll_one();
    bool had_a_turn = false;
    boost::asio::post(fixture.context, [&] {
        had_a_turn = true;
        CHECK(fixture.sink.reported.size() < 1000);
    });
    fixture.clock.run();
    CHECK(had_a_turn);
    CHECK(fixture.sink.reported.size() == 1002);
}

TEST_CASE("after each large object, other handlers run", "[kube]") {
    Fixture fixture;
    Script script;
    for (int i = 0; i < 20; ++i)
        script.push_back(event("ADDED", "a" + std::to_string(i), std::to_string(i + 1)) +
                         std::string(1'400'000, ' '));
    script.push_back(Silence{});
    fixture.server.watches = {script};
    fixture.context.poll_one();
    std::size_t most_in_a_turn = 0, seen = 0;
    std::function<void()> look = [&] {
        most_in_a_turn = std::max(most_in_a_turn, fixture.sink.reported.size() - seen);
        seen = fixture.sink.reported.size();
        if (seen < 20) boost::asio::post(fixture.context, look);
    };
    look();
    most_in_a_turn = 0;
    fixture.clock.run();
    CHECK(most_in_a_turn <= 2);  // the first comes with the beginning of the list
}

TEST_CASE("a cancelled reflector releases everything", "[kube]") {
    // ~Fixture checks it: during a silent watch, during a pause, and before the first step.
    SECTION("watching") {
        Fixture fixture;
        fixture.server.watches = {Script{end_of_list("9"), Silence{}}};
        fixture.clock.run();
        CHECK(fixture.server.open_watches == 1);
    }
    SECTION("pausing") {
        Fixture fixture;
        fixture.server.watches = {refusal(403, Errc::forbidden)};
        fixture.clock.run();
        CHECK(fixture.clock.sleepers() == 1);
    }
    SECTION("at once") { Fixture fixture; }
}

TEST_CASE("watches that the server ends and watches that break are counted separately", "[kube]") {
    Fixture fixture;
    CHECK(!fixture.reflector.healthy());
    fixture.server.watches = {Script{end_of_list("9"), 400s, Closed{}},
                              Script{200s, refusal(0, Errc::unavailable, "reset")},
                              Script{10s, error_event(410, "Expired")}, Script{end_of_list("20"), Silence{}}};
    fixture.clock.run_for(20min);
    CHECK(fixture.reflector.restarts().ended == 1);
    CHECK(fixture.reflector.restarts().broken == 2);
    CHECK(fixture.reflector.healthy());
}

TEST_CASE("a watch that is never opened is not healthy, and has no restarts", "[kube]") {
    Fixture fixture;
    for (int i = 0; i < 50; ++i) fixture.server.watches.push_back(refusal(404, Errc::not_found, "no CRD"));
    fixture.clock.run_for(10min);
    CHECK(!fixture.reflector.healthy());
    CHECK(fixture.reflector.restarts().ended + fixture.reflector.restarts().broken == 0);
}

namespace {

// One reflector for each of two namespaces, requested in this order, and one for runtimes.
struct Spaces {
    boost::asio::io_context context;
    VirtualClock clock{context};
    FakeApiServer server{clock};
    RecordingSink sink;
    kube::Reflector a{server, clock, sink, {.resource = kube::resources::train_jobs, .ns = "a"}};
    kube::Reflector b{server, clock, sink, {.resource = kube::resources::train_jobs, .ns = "b"}};
    kube::Reflector runtimes{server, clock, sink, {.resource = kube::resources::cluster_training_runtimes}};
    boost::asio::cancellation_signal stops[3];

    void run() {
        int next = 0;
        for (kube::Reflector* each : {&a, &b, &runtimes})
            boost::asio::co_spawn(
                context, each->run(),
                boost::asio::bind_cancellation_slot(stops[next++].slot(), [](std::exception_ptr) {}));
        clock.run_for(100ms);
    }
    std::string waits_for() {
        const kube::Reflector* all[] = {&a, &b, &runtimes};
        std::string text;
        for (const auto& reason : kube::unsynced(all)) text += reason + "\n";
        return text;
    }
    ~Spaces() {
        for (auto& stop : stops) stop.emit(boost::asio::cancellation_type::terminal);
        clock.run();
    }
};

const api::Result<Script> complete = Script{end_of_list("9"), Silence{}};
const api::Result<Script> forbidden = refusal(403, Errc::forbidden);
const api::Result<Script> missing = refusal(404, Errc::not_found);
const std::string no_list = "no list yet of trainjobs.trainer.kubeflow.org in ";

}  // namespace

TEST_CASE("a reflector of one namespace requests only that", "[kube]") {
    Spaces spaces;
    spaces.server.watches = {refusal(400, Errc::invalid), complete, complete};
    spaces.run();
    REQUIRE(spaces.server.requests.size() > 3);
    for (const auto& request : spaces.server.requests)
        CHECK((request.target.starts_with("/apis/trainer.kubeflow.org/v1alpha1/namespaces/") ||
               request.target.starts_with("/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes?")));
}

TEST_CASE("readiness waits for every namespace, except forbidden ones while others work", "[kube]") {
    struct Case {
        const char* name;
        std::deque<api::Result<Script>> watches;  // of a, b and the runtimes
        std::string want;
    };
    const Case cases[] = {
        {"all there", {complete, complete, complete}, ""},
        {"one is late", {complete, Script{Silence{}}, complete}, no_list + "b\n"},
        {"one is late for another reason", {missing, complete, complete}, no_list + "a\n"},
        {"one refuses", {complete, forbidden, complete}, ""},
        {"one refuses, one is late",
         {forbidden, Script{Silence{}}, complete},
         no_list + "a\n" + no_list + "b\n"},
        {"all refuse", {forbidden, forbidden, complete}, no_list + "a\n" + no_list + "b\n"},
        {"what all share is refused",
         {complete, complete, forbidden},
         "no list yet of clustertrainingruntimes.trainer.kubeflow.org\n"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            Spaces spaces;
            spaces.server.watches = c.watches;
            spaces.run();
            CHECK(spaces.waits_for() == c.want);
        }
    }
}
