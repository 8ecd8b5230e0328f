#include "net/process/single_flight.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <catch2/catch.hpp>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "loop.hpp"
#include "net/process/timer.hpp"

using net::Share;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

// Callers with calls that end when the test says so. The result of a call is its number, from 0 on.
struct Callers {
    using Flights = net::SingleFlight<std::string, int>;

    explicit Callers(Flights how) : flights(std::move(how)) {}

    void ask(const std::string& name, const std::string& key = "key",
             asio::cancellation_signal* cut = nullptr) {
        const auto caller = [](Callers& self, Flights shared, std::string me,
                               std::string what) -> net::Task<> {
            const int result = co_await shared.run(what, self.call());
            self.results.push_back(me + ": " + std::to_string(result));
        };
        const auto ended = [this, name](const std::exception_ptr& thrown) {
            if (thrown) results.push_back(name + ": cut");
        };
        auto task = caller(*this, flights, name, key);
        if (cut)
            asio::co_spawn(loop.context(), std::move(task), asio::bind_cancellation_slot(cut->slot(), ended));
        else
            asio::co_spawn(loop.context(), std::move(task), ended);
        loop.settle();
    }
    void end(std::size_t call) {
        ends[call]->notify();
        loop.settle();
    }
    void fail(std::size_t call) {
        fails = true;
        end(call);
        fails = false;
    }
    void cut_off(asio::cancellation_signal& cut) {
        cut.emit(asio::cancellation_type::all);
        loop.settle();
    }
    std::size_t calls() const { return ends.size(); }

    test::Loop loop = {};
    Flights flights;
    std::vector<std::unique_ptr<net::Wakeup>> ends = {};  // of the calls that have begun
    std::vector<std::string> results = {};                ///< "CALLER: result", in order
    bool fails = false;
    bool answers_when_cut = false;

private:
    net::Task<int> call() {
        const std::size_t number = ends.size();
        ends.push_back(std::make_unique<net::Wakeup>(loop.executor()));
        const bool is_cut = !co_await ends[number]->wait();
        if (is_cut && !answers_when_cut) throw boost::system::system_error(asio::error::operation_aborted);
        if (fails) throw std::runtime_error("failed");
        co_return static_cast<int>(number);
    }
};

using Results = std::vector<std::string>;

}  // namespace

TEST_CASE("callers share a call that is under way", "[net]") {
    Callers callers{Callers::Flights(Share::running)};
    for (const char* name : {"a", "b", "c"}) callers.ask(name);
    callers.ask("d", "another");
    CHECK(callers.calls() == 2);
    CHECK(callers.flights.is_running("key"));
    callers.end(0);
    CHECK(callers.results == Results{"a: 0", "b: 0", "c: 0"});
    CHECK(!callers.flights.is_running("key"));
    CHECK(callers.flights.is_running("another"));
    // Nothing is kept of a call that has ended.
    callers.ask("e");
    CHECK(callers.calls() == 3);
    callers.end(2);
    CHECK(callers.results.back() == "e: 2");
}

TEST_CASE("a caller gets no answer that is older than its question, if calls are shared before they begin",
          "[net]") {
    Callers callers{Callers::Flights(Share::not_begun)};
    for (const char* name : {"a", "b", "c"}) callers.ask(name);
    callers.ask("d", "another");
    CHECK(callers.calls() == 2);
    callers.end(0);
    CHECK(callers.results == Results{"a: 0"});
    CHECK(callers.calls() == 3);  // of "b" and "c" together
    callers.ask("e");
    callers.end(2);
    CHECK(callers.results == Results{"a: 0", "b: 2", "c: 2"});
    callers.end(3);
    CHECK(callers.results.back() == "e: 3");
}

TEST_CASE("with two calls at once, one that does not end holds up only its caller", "[net]") {
    Callers callers{Callers::Flights(Share::not_begun, 2)};
    for (const char* name : {"a", "b", "c", "d"}) callers.ask(name);
    CHECK(callers.calls() == 2);
    callers.end(1);
    CHECK(callers.results == Results{"b: 1"});
    CHECK(callers.calls() == 3);
    callers.end(2);
    CHECK(callers.results == Results{"b: 1", "c: 2", "d: 2"});
    callers.end(0);
    CHECK(callers.results.back() == "a: 0");
}

TEST_CASE("when the caller whose call runs is cut, another one makes its own", "[net]") {
    const Share share = GENERATE(Share::running, Share::not_begun);
    const bool answers_when_cut = GENERATE(false, true);
    Callers callers{Callers::Flights(share)};
    callers.answers_when_cut = answers_when_cut;
    asio::cancellation_signal cut;
    callers.ask("a", "key", &cut);
    callers.ask("b");
    callers.ask("c");
    callers.cut_off(cut);
    REQUIRE(callers.calls() == 2);
    callers.end(1);
    CHECK(callers.results == Results{answers_when_cut ? "a: 0" : "a: cut", "b: 1", "c: 1"});
}

TEST_CASE("when a call throws, its caller learns that, and another one makes its own", "[net]") {
    const Share share = GENERATE(Share::running, Share::not_begun);
    Callers callers{Callers::Flights(share)};
    callers.ask("a");
    callers.ask("b");
    callers.fail(0);
    CHECK(callers.results == Results{"a: cut"});
    callers.end(1);
    CHECK(callers.results == Results{"a: cut", "b: 1"});
}

TEST_CASE("a caller that waits may be cut", "[net]") {
    const Share share = GENERATE(Share::running, Share::not_begun);
    Callers callers{Callers::Flights(share)};
    asio::cancellation_signal cut;
    callers.ask("a");
    callers.ask("b", "key", &cut);
    callers.ask("c");
    callers.cut_off(cut);
    callers.end(0);
    if (callers.calls() > 1) callers.end(1);
    CHECK(callers.results ==
          (share == Share::running ? Results{"b: cut", "a: 0", "c: 0"} : Results{"b: cut", "a: 0", "c: 1"}));
}

TEST_CASE("all callers may be cut, and later ones call again", "[net]") {
    const Share share = GENERATE(Share::running, Share::not_begun);
    Callers callers{Callers::Flights(share)};
    std::list<asio::cancellation_signal> cuts(3);
    for (auto& cut : cuts) callers.ask("early", "key", &cut);
    for (auto& cut : cuts) cut.emit(asio::cancellation_type::all);
    callers.loop.settle();
    CHECK(callers.results == Results(3, "early: cut"));
    CHECK(!callers.flights.is_running("key"));
    const std::size_t before = callers.calls();
    callers.ask("late");
    REQUIRE(callers.calls() == before + 1);
    callers.end(before);
    CHECK(callers.results.back() == "late: " + std::to_string(before));
}

TEST_CASE("a result that concerns its caller alone is not shared", "[net]") {
    const Share share = GENERATE(Share::running, Share::not_begun);
    Callers callers{Callers::Flights(share, 1, [](int result) { return result != 0; })};
    for (const char* name : {"a", "b", "c"}) callers.ask(name);
    callers.end(0);
    CHECK(callers.results == Results{"a: 0"});
    callers.end(1);
    CHECK(callers.results == Results{"a: 0", "b: 1", "c: 1"});
}

TEST_CASE("callers may outlive the object that they share calls by", "[net]") {
    test::Loop loop;
    int sum = 0;
    const auto call = [](test::Loop& on) -> net::Task<int> {
        co_await boost::asio::post(on.executor(), asio::use_awaitable);
        co_return 1;
    };
    {
        net::SingleFlight<int, int> flights(Share::not_begun);
        for (int i = 0; i < 3; ++i)
            asio::co_spawn(loop.context(), flights.run(0, call(loop)),
                           [&](const std::exception_ptr&, int result) { sum += result; });
    }
    loop.settle();
    CHECK(sum == 3);
}
