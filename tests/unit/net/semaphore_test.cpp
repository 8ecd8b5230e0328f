#include "net/process/semaphore.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "loop.hpp"
#include "net/process/timer.hpp"

using net::Semaphore;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

// Holds permits until they are given back.
struct Desk {
    explicit Desk(std::size_t count) : permits(count) {}

    /// Asks for a permit; the name is noted when it comes, with a "!" if the wait was cut instead.
    void ask(char name, asio::cancellation_signal* cut = nullptr) {
        const auto waiter = [](Desk& desk, char me) -> net::Task<> {
            auto permit = co_await desk.permits.take();
            desk.order += me;
            desk.held.push_back(std::move(permit));
        };
        const auto ended = [this, name](const std::exception_ptr& thrown) {
            if (thrown) order += {name, '!'};
        };
        if (cut)
            asio::co_spawn(loop.context(), waiter(*this, name),
                           asio::bind_cancellation_slot(cut->slot(), ended));
        else
            asio::co_spawn(loop.context(), waiter(*this, name), ended);
        loop.settle();
    }
    void give_back() {
        held.erase(held.begin());
        loop.settle();
    }

    test::Loop loop = {};
    Semaphore permits;
    std::vector<Semaphore::Permit> held = {};
    std::string order = {};
};

}  // namespace

TEST_CASE("a semaphore gives out its permits in the order of the requests", "[net]") {
    Desk desk(2);
    for (const char name : {'a', 'b', 'c', 'd', 'e'}) desk.ask(name);
    CHECK(desk.order == "ab");
    CHECK(desk.permits.waiting() == 3);
    desk.give_back();
    CHECK(desk.order == "abc");
    desk.give_back();
    desk.give_back();
    CHECK(desk.order == "abcde");
    CHECK(desk.permits.waiting() == 0);
    desk.held.clear();
    for (const char name : {'f', 'g'}) desk.ask(name);
    CHECK(desk.order == "abcdefg");
}

TEST_CASE("a cancelled wait for a permit takes nothing from others", "[net]") {
    Desk desk(1);
    desk.ask('a');
    asio::cancellation_signal cut;
    desk.ask('b', &cut);
    desk.ask('c');
    SECTION("before the permit is free") {
        cut.emit(asio::cancellation_type::all);
        desk.loop.settle();
        CHECK(desk.order == "ab!");
        CHECK(desk.permits.waiting() == 1);
        desk.give_back();
        CHECK(desk.order == "ab!c");
    }
    SECTION("when it has just been granted") {
        desk.held.clear();
        cut.emit(asio::cancellation_type::all);
        desk.loop.settle();
        // It may have got the permit, or been cut; nothing is lost in either case.
        if (desk.order == "ab") desk.give_back();
        CHECK(desk.order.ends_with("c"));
    }
}

TEST_CASE("a wait for a permit may have a deadline", "[net]") {
    test::Loop loop;
    Semaphore permits(1);
    auto held = permits.try_take();
    loop.run([](Semaphore& from) -> net::Task<> {
        using namespace asio::experimental::awaitable_operators;
        const auto first = co_await (from.take() || net::sleep_for(1ms));
        CHECK(first.index() == 1);
    }(permits));
    CHECK(permits.waiting() == 0);
    held = {};
    CHECK(permits.try_take());
}

TEST_CASE("permits and waits may outlive their semaphore", "[net]") {
    test::Loop loop;
    std::string order;
    Semaphore::Permit first;
    const auto wait = [](Semaphore& from, std::string& noted) -> net::Task<> {
        const auto permit = co_await from.take();
        noted += 'x';
    };
    {
        Semaphore permits(1);
        first = permits.try_take();
        for (int i = 0; i < 2; ++i) asio::co_spawn(loop.context(), wait(permits, order), asio::detached);
        loop.settle();
    }
    CHECK(order.empty());
    first = {};
    loop.settle();
    CHECK(order == "xx");
}

TEST_CASE("a permit is taken without a wait if one is free", "[net]") {
    Semaphore permits(2);
    std::vector<Semaphore::Permit> held;
    while (auto permit = permits.try_take()) held.push_back(std::move(permit));
    CHECK(held.size() == 2);
    held.pop_back();
    CHECK(permits.try_take());
    // A copy has the same permits.
    Semaphore copy = permits;
    const auto last = copy.try_take();
    CHECK(last);
    CHECK(!permits.try_take());
}

TEST_CASE("one client gets half of the permits that the others leave", "[net]") {
    Semaphore permits(16);
    std::vector<Semaphore::Permit> flood;
    while (auto permit = permits.try_take("10.0.0.1")) flood.push_back(std::move(permit));
    CHECK(flood.size() == 8);
    // Many requests of another client still leave a permit for a third one.
    while (auto permit = permits.try_take("10.0.0.2")) flood.push_back(std::move(permit));
    CHECK(flood.size() == 12);
    const auto honest = permits.try_take("10.0.0.3");
    CHECK(honest);
    flood.clear();
    while (auto permit = permits.try_take("10.0.0.1")) flood.push_back(std::move(permit));
    CHECK(flood.size() == 7);
}

TEST_CASE("a client without a permit gets the last one", "[net]") {
    Semaphore permits(1);
    CHECK(permits.try_take("10.0.0.1"));
}
