#include "kube/client/clock.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>

#include "api/time.hpp"

namespace kube {
namespace {

namespace asio = boost::asio;

class SystemClock final : public Clock {
public:
    explicit SystemClock(asio::any_io_executor executor) : executor_(std::move(executor)) {}

    SteadyTime now() const override { return std::chrono::steady_clock::now(); }
    MicroTime wall() const override {
        return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
    }
    net::Task<> sleep_until(SteadyTime when) override {
        asio::steady_timer timer(executor_, when);
        co_await timer.async_wait(asio::use_awaitable);
    }
    double jitter() override { return std::uniform_real_distribution<double>(0, 1)(random_); }

private:
    asio::any_io_executor executor_;
    std::minstd_rand random_{std::random_device{}()};
};

}  // namespace

std::unique_ptr<Clock> make_clock(asio::any_io_executor executor) {
    return std::make_unique<SystemClock>(std::move(executor));
}

std::string format_micro_time(MicroTime time) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    std::string fraction = std::to_string((time - seconds).count());
    fraction.insert(0, 6 - fraction.size(), '0');
    std::string text = api::format_time(seconds);
    text.pop_back();  // the Z
    return text.append(".").append(fraction).append("Z");
}

}  // namespace kube
