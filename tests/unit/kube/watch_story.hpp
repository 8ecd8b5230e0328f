#pragma once
#include <catch2/catch.hpp>

#include "kube/watch/watch_machine.hpp"
#include "recording_sink.hpp"
#include "support/fake_api_server.hpp"

using namespace std::chrono_literals;
using api::Errc;
using Machine = kube::WatchMachine;

inline const kube::SteadyTime t0 = kube::SteadyTime(1000h);
inline const std::string base = "/apis/trainer.kubeflow.org/v1alpha1/trainjobs?";
inline const std::string streaming =
    base +
    "watch=true&allowWatchBookmarks=true&timeoutSeconds=300&sendInitialEvents=true&"
    "resourceVersionMatch=NotOlderThan";

inline kube::Scope scope() { return {.resource = kube::resources::train_jobs}; }

inline std::string watching_from(const std::string& version) {
    return base + "watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=" + version;
}

inline std::string page(const std::string& items, const std::string& next = "",
                        const std::string& version = "9") {
    return R"({"metadata":{"resourceVersion":")" + version + R"(","continue":")" + next + R"("},"items":[)" +
           items + "]}";
}
inline std::string item(const std::string& name, const std::string& version) {
    return R"({"metadata":{"namespace":"ns","name":")" + name + R"(","resourceVersion":")" + version + "\"}}";
}

/// A machine and the record of its steps, one line each.
struct Story {
    Machine machine{scope()};
    RecordingSink sink;
    kube::SteadyTime now = t0;

    std::string next(double jitter = 0) {
        auto step = machine.next(now, jitter);
        if (const auto* pause = std::get_if<Machine::Pause>(&step))
            return "pause " + std::to_string(pause->duration.count());
        if (const auto* fetch = std::get_if<Machine::Fetch>(&step)) return "list " + fetch->request.target;
        return "watch " + std::get<Machine::Open>(step).request.target;
    }
    void line(const std::string& text) { CHECK(machine.line(text, sink)); }
    void refused(const std::string& text) { CHECK(!machine.line(text, sink)); }
    void failed(api::Error error) { machine.failed(now, error); }
    // Brings it to a running watch at version 9 with object a.
    void settle() {
        REQUIRE(next() == "watch " + streaming);
        machine.opened(sink);
        line(event("ADDED", "a", "5"));
        line(end_of_list("9"));
        sink.take();
    }
    // The stream ends after a normal duration; the next step resumes.
    void reopen(const std::string& version) {
        now += 300s;
        machine.closed(now);
        CHECK(next() == "watch " + watching_from(version));
        machine.opened(sink);
    }
};
