#include "farewell.hpp"

#include "net/process/timer.hpp"

namespace webhook {

net::Task<> serve_on(std::chrono::milliseconds delay, std::function<void()> close_after_response) {
    const auto farewell = delay / 5;
    co_await net::sleep_for(delay - farewell);
    close_after_response();
    co_await net::sleep_for(farewell);
}

}  // namespace webhook
