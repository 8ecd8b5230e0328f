#include "kube/manager/event_recorder.hpp"

#include <catch2/catch.hpp>

#include "support/fake_api_server.hpp"

using namespace std::chrono_literals;
using api::Errc;

TEST_CASE("events are sent in the background, and errors do not affect the caller", "[kube]") {
    boost::asio::io_context context;
    VirtualClock clock(context);
    FakeApiServer server(clock);
    std::vector<std::string> dropped;
    std::vector<std::string> reported;
    kube::EventRecorder recorder(
        context.get_executor(), server, clock, "pod-1",
        {.dropped =
             [&](const kube::Regarding& regarding, const kube::EventText& text, const api::Error& error) {
                 CHECK(regarding.uid == "u");
                 dropped.push_back(text.reason + ": " + error.message);
             },
         .error = [&](const api::Error* error) { reported.push_back(error ? error->message : "over"); }});
    const kube::Regarding job = {.api_version = "v", .kind = "TrainJob", .key = {"ns", "job"}, .uid = "u"};
    const auto methods = [&] {
        std::string all;
        for (const auto& request : server.requests) all += request.method + " ";
        return all;
    };

    SECTION("good") {
        server.answer = [](const kube::Request&) { return kube::Response{.status = 201}; };
        recorder.record(job, {.reason = "R"});
        CHECK(server.requests.empty());
        clock.run();
        recorder.record(job, {.reason = "R"});
        recorder.record(job, {.reason = "R"});
        clock.run();
        CHECK(methods() == "POST PATCH ");
        CHECK(dropped.empty());
        CHECK(reported.empty());
    }
    SECTION("refused: the next one is new") {
        recorder.record(job, {.reason = "R"});
        clock.run();
        recorder.record(job, {.reason = "R"});
        clock.run();
        CHECK(methods() == "POST POST ");
        CHECK(dropped == std::vector<std::string>{"R: no", "R: no"});
    }
    SECTION("a failure is logged once, and its end once it is calm") {
        bool good = false;
        server.answer = [&](const kube::Request&) -> api::Result<kube::Response> {
            if (good) return kube::Response{.status = 201};
            return refusal(403, Errc::forbidden, "may not");
        };
        const auto record = [&](bool stored) {
            good = stored;
            recorder.record(job, {.reason = "R" + std::to_string(server.requests.size())});
            clock.run();
        };
        record(false);
        record(false);
        record(true);  // while every other one fails, the error is not over
        record(false);
        CHECK(reported == std::vector<std::string>{"may not"});
        clock.run_for(30s);
        record(true);
        record(true);
        CHECK(reported == std::vector<std::string>{"may not", "over"});
        record(false);
        CHECK(reported.size() == 3);
        CHECK(dropped.size() == 4);
    }
    SECTION("errors of normal operation are not reported") {
        api::Error error = refusal(403, Errc::forbidden, "namespace ns is being terminated");
        error.reason = "NamespaceTerminating";
        server.answer = [&](const kube::Request&) { return api::Result<kube::Response>(error); };
        recorder.record(job, {.reason = "R"});
        clock.run();
        server.answer = [](const kube::Request& request) -> api::Result<kube::Response> {
            if (request.method == "POST") return kube::Response{.status = 201};
            return refusal(404, Errc::not_found, "expired");
        };
        recorder.record(job, {.reason = "R"});
        clock.run();
        recorder.record(job, {.reason = "R"});
        clock.run();
        CHECK(methods() == "POST POST PATCH ");
        CHECK(dropped.size() == 2);
        CHECK(reported.empty());
    }
    SECTION("waiting events wait as long as a busy server requires") {
        server.answer = [](const kube::Request&) -> api::Result<kube::Response> {
            api::Error busy = refusal(429, Errc::unavailable, "busy");
            busy.retry_after = 3s;
            return busy;
        };
        for (int i = 0; i < 40; ++i) recorder.record(job, {.reason = "R" + std::to_string(i)});
        clock.run();
        CHECK(server.requests.size() == 16);
        clock.run_for(2s);
        CHECK(server.requests.size() == 16);
        clock.run_for(1s);
        CHECK(server.requests.size() == 32);
        clock.run_for(1h);  // sleepers must not outlive the clock
        CHECK(server.requests.size() == 40);
    }
    SECTION("more events than the server takes") {
        server.delay = 10s;
        server.answer = [](const kube::Request&) { return kube::Response{.status = 201}; };
        int recorded = 0;
        const auto record = [&](int count) {
            for (int i = 0; i < count; ++i)
                recorder.record(job, {.reason = "R" + std::to_string(++recorded)});
            clock.run();
        };
        record(20);
        CHECK(server.requests.size() == 16);
        CHECK(dropped.empty());
        clock.run_for(20s);  // the waiting ones, in their order
        REQUIRE(server.requests.size() == 20);
        CHECK(server.requests.back().body.find("R20") != std::string::npos);
        record(16);
        record(518);
        CHECK(dropped.size() == 6);
        CHECK(reported == std::vector<std::string>{"too many events are waiting for the API server"});
        clock.run_for(10s);
        const std::size_t sent = server.requests.size();
        recorder.record(job, {.reason = "later"});
        clock.run_for(1h);
        CHECK(server.requests.size() > sent);
        CHECK(server.requests.back().body.find("later") != std::string::npos);
        CHECK(dropped.size() == 6);
    }
    SECTION("one namespace leaves places for others") {
        server.delay = 10s;
        server.answer = [](const kube::Request&) { return kube::Response{.status = 201}; };
        int recorded = 0;
        const auto record = [&](const std::string& ns, int count) {
            kube::Regarding other = job;
            other.key.ns = ns;
            for (int i = 0; i < count; ++i)
                recorder.record(other, {.reason = "R" + std::to_string(++recorded)});
            clock.run();
            return std::exchange(dropped, {}).size();
        };
        CHECK(record("loud", 16) == 0);  // in flight
        CHECK(record("louder", 600) == 600 - 512);
        CHECK(record("quiet", 1) == 0);
        CHECK(record("loud", 600) == 600 - 511);
        CHECK(record("third", 1) == 1);
        clock.run_for(10s);
        CHECK(record("third", 1) == 0);
        clock.run_for(1h);  // sleepers must not outlive the clock
    }
}
