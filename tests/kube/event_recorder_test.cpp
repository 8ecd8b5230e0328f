#include "kube/event_recorder.hpp"

#include <catch2/catch.hpp>

#include "fake_api_server.hpp"

using namespace std::chrono_literals;
using api::Errc;

TEST_CASE("events are sent without waiting, and trouble with them is harmless", "[kube]") {
    boost::asio::io_context context;
    VirtualClock clock(context);
    FakeApiServer server(clock);
    std::vector<std::string> dropped;
    kube::EventRecorder recorder(context.get_executor(), server, clock, "pod-1",
                                 [&](const kube::EventText& text, const api::Error& error) {
                                     dropped.push_back(text.reason + ": " + error.message);
                                 });
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
    }
    SECTION("refused: the next one is new") {
        recorder.record(job, {.reason = "R"});
        clock.run();
        recorder.record(job, {.reason = "R"});
        clock.run();
        CHECK(methods() == "POST POST ");
        CHECK(dropped == std::vector<std::string>{"R: no", "R: no"});
    }
    SECTION("more than the server takes") {
        server.delay = 10s;
        server.answer = [](const kube::Request&) { return kube::Response{.status = 201}; };
        for (int i = 0; i < 70; ++i) recorder.record(job, {.reason = "R" + std::to_string(i)});
        clock.run();
        CHECK(server.requests.size() == 64);
        CHECK(dropped.size() == 6);
        clock.run_for(10s);
        recorder.record(job, {.reason = "later"});
        clock.run();
        CHECK(server.requests.size() == 65);
        clock.run_for(10s);
    }
}
