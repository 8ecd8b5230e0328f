#include "serving/serve_on.hpp"

#include "net/process/timer.hpp"

namespace webhook {

net::Task<> serve_on(std::chrono::milliseconds delay, std::function<void()> close_after_response) {
    const auto closing = delay / 5;
    co_await net::sleep_for(delay - closing);
    close_after_response();
    co_await net::sleep_for(closing);
}

}  // namespace webhook
