#include "controller/reconcile/coalesced_reads.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <catch2/catch.hpp>

#include "support/printers.hpp"
#include "support/virtual_clock.hpp"

using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

// Takes some time for each answer, which says how many requests came before it.
class SlowServer final : public kube::ApiServer {
public:
    explicit SlowServer(VirtualClock& clock) : clock_(clock) {}

    kube::Async<kube::Response> send(kube::Request request) override {
        const std::string text =
            R"({"metadata":{"resourceVersion":")" + std::to_string(asked.size()) + "\"}}";
        asked.push_back(request.target);
        const std::optional<api::Error> refused = refuse;
        co_await clock_.sleep_until(clock_.now() + takes);
        if (refused) co_return *refused;
        kube::Response response = {.body = text};
        co_return response;
    }
    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request) override {
        co_return api::Error{.code = api::Errc::internal, .message = "no watch here"};
    }

    std::vector<std::string> asked = {};
    std::optional<api::Error> refuse = {};
    std::chrono::seconds takes{1};

private:
    VirtualClock& clock_;
};

struct Readers {
    asio::io_context context = {};
    VirtualClock clock{context};
    SlowServer server{clock};
    controller::CoalescedReads runtimes;
    std::vector<std::string> answers = {};  ///< "READER: what it got", in order

    /// A reader that can be cancelled.
    void ask(const std::string& reader_name, const std::string& name = "torch",
             asio::cancellation_signal* cut = nullptr) {
        const auto reader = [](Readers& self, std::string me, api::ObjectKey key) -> kube::Task<> {
            const auto answer =
                co_await self.runtimes.read(self.server, kube::resources::cluster_training_runtimes, key);
            std::string what = answer ? "nothing" : answer.error().message;
            if (answer && *answer) what = (**answer)["metadata"]["resourceVersion"].as_string();
            self.answers.push_back(me + ": " + what);
        };
        const auto ended = [](const std::exception_ptr&) {};
        if (cut)
            asio::co_spawn(context, reader(*this, reader_name, {"", name}),
                           asio::bind_cancellation_slot(cut->slot(), ended));
        else
            asio::co_spawn(context, reader(*this, reader_name, {"", name}), ended);
        clock.run();
    }
};

using Answers = std::vector<std::string>;

}  // namespace

TEST_CASE(
    "callers share the next reading of a runtime that is being read twice, which begins after their calls") {
    Readers readers;
    readers.ask("first");
    readers.clock.run_for(500ms);
    readers.ask("second");
    readers.ask("third");
    readers.ask("fourth");
    CHECK(readers.server.asked.size() == 2);
    readers.clock.run_for(500ms);
    CHECK(readers.answers == Answers{"first: 0"});
    CHECK(readers.server.asked.size() == 3);
    readers.ask("fifth");
    readers.clock.run_for(3s);
    CHECK(readers.answers == Answers{"first: 0", "second: 1", "third: 2", "fourth: 2", "fifth: 3"});
    CHECK(readers.server.asked.size() == 4);
}

TEST_CASE("an answer that does not come holds up only its caller") {
    Readers readers;
    readers.server.takes = 30s;
    readers.ask("first");
    readers.server.takes = 1s;
    for (const char* reader_name : {"second", "third", "fourth"}) readers.ask(reader_name);
    readers.clock.run_for(2s);
    CHECK(readers.answers == Answers{"second: 1", "third: 2", "fourth: 2"});
    readers.clock.run_for(28s);
    CHECK(readers.answers.back() == "first: 0");
}

TEST_CASE("nothing is kept of a runtime once no caller waits for it") {
    Readers readers;
    readers.ask("first");
    readers.clock.run_for(1s);
    readers.ask("second");
    readers.clock.run_for(1s);
    CHECK(readers.answers == Answers{"first: 0", "second: 1"});
}

TEST_CASE("readings of different runtimes do not wait for each other") {
    Readers readers;
    readers.ask("first", "torch");
    readers.ask("second", "torch");
    readers.ask("third", "jax");
    CHECK(readers.server.asked.size() == 3);
    readers.clock.run_for(1s);
    CHECK(readers.answers == Answers{"first: 0", "second: 1", "third: 2"});
}

TEST_CASE(
    "all waiting callers learn that a runtime does not exist, or cannot be read, and later ones read again") {
    const api::Error missing = {.code = api::Errc::not_found, .message = "no such runtime"};
    const api::Error lost = {.code = api::Errc::unavailable, .message = "connection lost"};
    for (const auto& [error, what] : {std::pair(missing, "nothing"), std::pair(lost, "connection lost")}) {
        Readers readers;
        readers.ask("first");
        readers.ask("second");
        readers.server.refuse = error;
        readers.ask("third");
        readers.ask("fourth");
        readers.clock.run_for(1s);
        readers.server.refuse.reset();
        readers.clock.run_for(1s);
        readers.ask("fifth");
        readers.clock.run_for(1s);
        const std::string text = what;
        CHECK(readers.answers ==
              Answers{"first: 0", "second: 1", "third: " + text, "fourth: " + text, "fifth: 3"});
    }
}

TEST_CASE("that a runtime is too large for one caller is not shared with the others") {
    Readers readers;
    readers.ask("first");
    readers.ask("second");
    readers.server.refuse = api::Error{.code = api::Errc::too_large, .message = "no room"};
    readers.ask("third");
    readers.ask("fourth");
    readers.clock.run_for(1s);
    readers.server.refuse.reset();
    readers.clock.run_for(2s);
    CHECK(readers.answers == Answers{"first: 0", "second: 1", "third: no room", "fourth: 3"});
}

TEST_CASE("when the caller that reads is cut, another one reads for those that wait") {
    Readers readers;
    readers.ask("first");
    readers.ask("second");
    asio::cancellation_signal cut;
    readers.ask("third", "torch", &cut);
    readers.ask("fourth");
    readers.clock.run_for(1s);
    REQUIRE(readers.server.asked.size() == 3);  // the last one is the third one's
    readers.ask("fifth");
    CHECK(readers.server.asked.size() == 4);
    cut.emit(asio::cancellation_type::all);
    readers.clock.run_for(5s);
    CHECK(readers.answers == Answers{"first: 0", "second: 1", "fifth: 3", "fourth: 4"});
}

TEST_CASE("a caller that waits may be cut as well") {
    Readers readers;
    readers.ask("first");
    readers.ask("second");
    asio::cancellation_signal cut;
    readers.ask("third", "torch", &cut);
    readers.ask("fourth");
    cut.emit(asio::cancellation_type::all);
    readers.clock.run_for(3s);
    CHECK(readers.answers == Answers{"first: 0", "second: 1", "fourth: 2"});
}
