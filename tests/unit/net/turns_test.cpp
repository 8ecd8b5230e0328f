#include "net/process/turns.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <catch2/catch.hpp>
#include <string>

#include "loop.hpp"

namespace {

// A short task becomes ready while it works.
net::Task<> work(net::Turns& turns, boost::asio::any_io_executor executor, char name, std::string& order) {
    const auto turn = co_await turns.next();
    order += name;
    boost::asio::post(executor, [&order] { order += '.'; });
}

net::Task<> keep(net::Turns& turns, boost::asio::any_io_executor executor) {
    const auto turn = co_await turns.next();
    boost::asio::steady_timer forever(executor, boost::asio::steady_timer::time_point::max());
    co_await forever.async_wait(boost::asio::use_awaitable);
}

}  // namespace

TEST_CASE("long tasks run one at a time, and ready handlers run between them", "[net]") {
    test::Loop loop;
    net::Turns turns(loop.executor());
    std::string order;
    for (const char name : {'a', 'b', 'c'})
        boost::asio::co_spawn(loop.context(), work(turns, loop.executor(), name, order),
                              boost::asio::detached);
    loop.settle();
    CHECK(order == "a.b.c.");
    loop.run(work(turns, loop.executor(), 'd', order));
    CHECK(order.starts_with("a.b.c.d"));
}

TEST_CASE("a cancelled wait takes no turn from others", "[net]") {
    test::Loop loop;
    net::Turns turns(loop.executor());
    std::string order;
    boost::asio::cancellation_signal end_of_keep;
    boost::asio::cancellation_signal end_of_wait;
    bool is_cut = false;
    boost::asio::co_spawn(
        loop.context(), keep(turns, loop.executor()),
        boost::asio::bind_cancellation_slot(end_of_keep.slot(), [](const std::exception_ptr&) {}));
    boost::asio::co_spawn(
        loop.context(), work(turns, loop.executor(), 'x', order),
        boost::asio::bind_cancellation_slot(
            end_of_wait.slot(), [&](const std::exception_ptr& thrown) { is_cut = thrown != nullptr; }));
    boost::asio::co_spawn(loop.context(), work(turns, loop.executor(), 'a', order), boost::asio::detached);
    loop.settle();
    end_of_wait.emit(boost::asio::cancellation_type::all);
    loop.settle();
    CHECK(is_cut);
    CHECK(order.empty());
    // A wait that is cancelled after it got its turn passes the turn on.
    end_of_keep.emit(boost::asio::cancellation_type::all);
    loop.settle();
    CHECK(order == "a.");
}

TEST_CASE("Turns may be destroyed while tasks wait", "[net]") {
    test::Loop loop;
    std::string order;
    {
        net::Turns turns(loop.executor());
        boost::asio::co_spawn(loop.context(), keep(turns, loop.executor()), boost::asio::detached);
        for (const char name : {'a', 'b'})
            boost::asio::co_spawn(loop.context(), work(turns, loop.executor(), name, order),
                                  boost::asio::detached);
        loop.settle();
    }
    loop.settle();
    CHECK(order.empty());
}
