#include "net/rounds.hpp"

#include <algorithm>
#include <thread>

namespace net {

RoundPacer::Duration RoundPacer::pause_after(std::size_t handled, Time now) {
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    free_ = std::clamp(free_ - 1 + seconds * limits_.per_second, -1.0, limits_.rounds);
    if (free_ >= 0)
        pause_ = pause_.zero();
    else if (handled < limits_.enough)
        pause_ = std::min(pause_ + limits_.step, limits_.longest);
    else if (handled > 2 * limits_.enough)
        pause_ /= 2;  // the server is fast: it is not to wait for us
    return pause_;
}

RoundClock make_round_clock() {
    return {.pause = [](RoundPacer::Duration time) { std::this_thread::sleep_for(time); }};
}

void run_in_rounds(boost::asio::io_context& context, const RoundClock& clock) {
    RoundPacer pacer;
    while (context.run_one() > 0) {
        const std::size_t handled = 1 + context.poll();
        if (const auto time = pacer.pause_after(handled, clock.now()); time > time.zero()) clock.pause(time);
    }
}

}  // namespace net
