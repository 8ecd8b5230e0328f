#include "controller/reconcile/namespace_warnings.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>

#include "support/printers.hpp"
#include "support/virtual_clock.hpp"

namespace controller {
namespace {

using api::Json;
using namespace std::chrono_literals;
namespace asio = boost::asio;

// Answers after a second.
class EventServer final : public kube::ApiServer {
public:
    explicit EventServer(VirtualClock& clock) : clock_(clock) {}

    kube::Async<kube::Response> send(kube::Request request) override {
        asked.push_back(request);
        co_await clock_.sleep_until(clock_.now() + 1s);
        if (refuse) co_return *refuse;
        kube::Response response = {.body = to_json(Json::object({{"items", events}}))};
        co_return response;
    }
    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request) override {
        co_return api::Error{.code = api::Errc::internal, .message = "no watch here"};
    }

    std::vector<kube::Request> asked = {};
    std::optional<api::Error> refuse = {};
    Json events = Json::array();

private:
    VirtualClock& clock_;
};

Json event(const char* kind, const std::string& message = "no", const char* time = "2026-01-15T10:00:00Z") {
    return Json::object(
        {{"involvedObject", Json::object({{"kind", kind}, {"name", "job"}, {"uid", "uid-1"}})},
         {"reason", "FailedCreate"},
         {"message", message},
         {"lastTimestamp", time}});
}

struct Callers {
    ~Callers() { clock.run_for(1min); }  // no answer outlives the clock

    asio::io_context context = {};
    VirtualClock clock{context};
    EventServer server{clock};
    NamespaceWarnings warnings{server};
    api::Time now = std::chrono::sys_days(std::chrono::year(2026) / 1 / 15) + 10h;
    std::vector<std::string> answers = {};  ///< "NAMESPACE: how many Warnings it got", in order
    NamespaceWarnings::List last = {};

    void ask(const std::string& ns, asio::cancellation_signal* cut = nullptr) {
        const auto caller = [](Callers& self, std::string of) -> kube::Task<> {
            const auto list = co_await self.warnings.read(of, self.now);
            self.answers.push_back(of + ": " + (list ? std::to_string(list->size()) : "not yet"));
            if (list) self.last = *list;
        };
        const auto ended = [](const std::exception_ptr&) {};
        if (cut)
            asio::co_spawn(context, caller(*this, ns), asio::bind_cancellation_slot(cut->slot(), ended));
        else
            asio::co_spawn(context, caller(*this, ns), ended);
        clock.run();
    }
    void pass(std::chrono::seconds time) {
        now += time;
        clock.run_for(time);
    }
};

using Answers = std::vector<std::string>;

}  // namespace

TEST_CASE("a list has the Warnings of a namespace about anything but Pods, up to a number and a size") {
    Callers callers;
    callers.ask("ns");
    REQUIRE(callers.server.asked.size() == 1);
    CHECK(
        callers.server.asked.front().target ==
        "/api/v1/namespaces/ns/events?limit=200&fieldSelector=type%3DWarning%2CinvolvedObject.kind%21%3DPod");
    CHECK(callers.server.asked.front().max_answer == 512 * 1024);
}

TEST_CASE("jobs of a namespace share a list for ten seconds, and nobody waits for another's") {
    Callers callers;
    callers.server.events.push_back(event("JobSet"));
    callers.ask("ns");
    callers.ask("ns");
    CHECK(callers.answers == Answers{"ns: not yet"});
    callers.pass(1s);
    callers.ask("ns");
    callers.pass(8s);
    callers.ask("ns");
    CHECK(callers.answers == Answers{"ns: not yet", "ns: 1", "ns: 1", "ns: 1"});
    CHECK(callers.server.asked.size() == 1);
    callers.pass(1s);
    callers.ask("ns");
    CHECK(callers.server.asked.size() == 2);
}

TEST_CASE("a list that cannot be read counts as empty for as long") {
    Callers callers;
    callers.server.refuse =
        api::Error{.code = api::Errc::forbidden, .message = "cannot list events", .http_status = 403};
    callers.ask("ns");
    callers.pass(1s);
    callers.ask("ns");
    CHECK(callers.answers == Answers{"ns: 0", "ns: 0"});
    CHECK(callers.server.asked.size() == 1);
}

TEST_CASE("of an event the latest of its times counts, and of other objects nothing") {
    Callers callers;
    Json repeated = event("Job", "again and again", "2026-01-15T10:00:01Z");
    repeated["series"]["lastObservedTime"] = "2026-01-15T10:05:00.123456Z";
    repeated["eventTime"] = "2026-01-15T09:00:00.000000Z";
    Json timeless = event("JobSet", "never", "soon");
    callers.server.events = Json::array({repeated, timeless, event("Node"), event("PersistentVolumeClaim")});
    callers.ask("ns");
    callers.pass(1s);
    CHECK(callers.last == NamespaceWarnings::List{{.kind = "Job",
                                                   .name = "job",
                                                   .uid = "uid-1",
                                                   .reason = "FailedCreate",
                                                   .message = "again and again",
                                                   .last = callers.now + 5min - 1s}});
}

TEST_CASE("four lists are read at a time") {
    Callers callers;
    for (const char* ns : {"a", "b", "c", "d", "e"}) callers.ask(ns);
    CHECK(callers.answers == Answers{"e: not yet"});
    CHECK(callers.server.asked.size() == 4);
    callers.pass(1s);
    callers.ask("e");
    CHECK(callers.server.asked.size() == 5);
}

TEST_CASE("a caller that is cut lets the next one read") {
    Callers callers;
    asio::cancellation_signal cut;
    callers.ask("ns", &cut);
    cut.emit(asio::cancellation_type::terminal);
    callers.clock.run();
    callers.ask("ns");
    CHECK(callers.server.asked.size() == 2);
}

TEST_CASE("at most 4 MiB of Warnings are kept") {
    Callers callers;
    callers.server.events.push_back(event("JobSet", std::string(500'000, 'x')));
    const std::string namespaces = "abcdefgh";
    for (const char ns : namespaces.substr(0, 4)) callers.ask(std::string(1, ns));
    callers.pass(1s);
    for (const char ns : namespaces.substr(4)) callers.ask(std::string(1, ns));
    callers.pass(1s);
    for (const char ns : namespaces) callers.ask(std::string(1, ns));
    CHECK(callers.server.asked.size() == 8);
    callers.ask("i");
    callers.pass(1s);
    CHECK(callers.answers.back() == "i: 1");
    callers.ask("a");
    CHECK(callers.server.asked.size() == 10);
}

}  // namespace controller
