#include "net/process/poll_pacer.hpp"

#include <algorithm>
#include <thread>

namespace net {

PollPacer::Duration PollPacer::pause_after(std::size_t handled, Time now, std::size_t awaited) {
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    free_ = std::clamp(free_ - static_cast<double>(handled) + seconds * free_per_second, -1.0, free_in_a_row);
    // A wait for the last few of the awaited responses gains nothing.
    const std::size_t wanted = std::min(enough, awaited);
    if (free_ >= 0)
        pause_ = pause_.zero();
    else if (handled < wanted)
        pause_ = std::min(pause_ + step, longest_pause);
    else if (handled > 2 * wanted)
        pause_ /= 2;
    return pause_;
}

RoundClock make_round_clock() {
    return {.pause = [](PollPacer::Duration time) { std::this_thread::sleep_for(time); }};
}

void run_paced(boost::asio::io_context& context, const ExpectedCompletions& awaited,
               const RoundClock& clock) {
    PollPacer pacer;
    while (context.run_one() > 0) {
        const std::size_t handled = 1 + context.poll();
        if (const auto time = pacer.pause_after(handled, clock.now(), awaited()); time > time.zero())
            clock.pause(time);
    }
}

}  // namespace net
