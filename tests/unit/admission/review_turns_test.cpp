#include "admission/review_turns.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <string>

namespace {

// A short task becomes ready while it works.
net::Task<> work(net::Semaphore& turns, boost::asio::io_context& context, char name, std::string& order) {
    admission::MaybeTurn turn;
    co_await admission::take_turn(turns, turn);
    order += name;
    boost::asio::post(context, [&order] { order += '.'; });
    // It has its turn already.
    co_await admission::take_turn(turns, turn);
}

}  // namespace

TEST_CASE("long tasks run one at a time, and ready handlers run between them", "[review]") {
    boost::asio::io_context context{1};
    admission::ReviewTurns turns;
    std::string order;
    for (const char name : {'a', 'b', 'c'})
        boost::asio::co_spawn(context, work(turns.expensive, context, name, order), boost::asio::detached);
    context.poll();
    CHECK(order == "a.b.c.");
    CHECK(turns.expensive.try_take());
}
