#include "reconcile/metered_reads.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "support/answering_server.hpp"

using controller::MeteredReads;
using namespace std::chrono_literals;

namespace {

const api::Time noon = api::as_time("2026-11-28T12:00:00Z").value();
kube::ServerTime now() { return noon; }

// "too_large", "exceeded", or the length of the answer.
std::string outcome(MeteredReads& reads, const std::string& target, const std::string& method = "GET") {
    kube::Request request;
    request.method = method;
    request.target = target;
    boost::asio::io_context context;
    std::string what;
    const auto ask = [&]() -> net::Task<> {
        const auto answer = co_await reads.send(std::move(request));
        what = answer ? std::to_string(answer->body.size()) : reads.is_exceeded() ? "exceeded" : "too_large";
    };
    boost::asio::co_spawn(context, ask(), [](const std::exception_ptr&) {});
    context.run();
    return what;
}

}  // namespace

TEST_CASE("a reconcile reads as much as it is allowed, and each object once counts") {
    AnsweringServer server;
    server.bodies = {
        {"/a", std::string(600, 'a')}, {"/b", std::string(500, 'b')}, {"/c", std::string(400, 'c')}};
    MeteredReads reads(server, 1'000, now);
    CHECK(outcome(reads, "/a") == "600");
    CHECK(outcome(reads, "/a") == "600");
    CHECK(reads.weight() == 600);
    CHECK(outcome(reads, "/c") == "400");
    CHECK(outcome(reads, "/b", "PATCH") == "500");
    CHECK(reads.weight() == 1'000);
    CHECK(outcome(reads, "/b") == "exceeded");
    CHECK(server.requests.back().max_answer == 0);
    // Nothing is decided, or written, without what it would have read.
    const std::size_t sent = server.requests.size();
    CHECK(outcome(reads, "/a") == "exceeded");
    CHECK(outcome(reads, "/b", "PATCH") == "exceeded");
    CHECK(server.requests.size() == sent);
}

TEST_CASE("an answer weighs as much as the tree that is made of it") {
    AnsweringServer server;
    std::string text = "[";
    for (int i = 0; i < 100; ++i) text += "[0],";
    server.bodies = {{"/a", text + "0]"}};
    MeteredReads little(server, 1'600, now), enough(server, 1'700, now);
    CHECK(outcome(little, "/a") == "exceeded");
    CHECK(outcome(enough, "/a") == "403");
}

TEST_CASE("what no reconcile may hold is an error, and not asked for again") {
    AnsweringServer server;
    server.bodies = {{"/a", std::string(MeteredReads::most + 1, 'a')}};
    MeteredReads reads(server, MeteredReads::most + 1, now);
    CHECK(outcome(reads, "/a") == "too_large");
    CHECK(server.requests.back().max_answer == MeteredReads::most);
}

TEST_CASE("the time is no later than the answers allow, and uncertain if one had none, or an earlier one") {
    AnsweringServer server;
    server.bodies = {{"/a", "a"}};
    kube::ServerTime clock = noon;
    MeteredReads reads(server, 1'000, [&] { return clock; });
    CHECK(reads.time().now == noon);
    server.date = noon + 5s;
    outcome(reads, "/a");
    CHECK(reads.time().now == noon);
    server.date = noon - 3s;
    outcome(reads, "/a");
    server.date = noon - 2s;
    outcome(reads, "/a");
    CHECK(reads.time().now == noon - 3s);
    CHECK(reads.time().is_certain);
    clock = noon + 60s;
    CHECK(reads.time().now == noon + 57s);
    clock.is_certain = false;
    CHECK_FALSE(reads.time().is_certain);
    clock.is_certain = true;
    for (const auto& date : {std::optional<api::Time>(), std::optional<api::Time>(noon)}) {
        MeteredReads others(server, 1'000, [&] { return clock; });
        server.date = date;
        outcome(others, "/a");
        CHECK_FALSE(others.time().is_certain);
        CHECK(others.time().now == clock.now);
    }
}
