#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>

namespace net {

/// How long an event loop that is woken all the time lets answers gather before it looks for them, as network
/// cards moderate interrupts: what wakes a process for one answer costs more than the answer does
/// (docs/performance.md). A few wake-ups in a row, as one job takes them, are free.
class RoundPacer {
public:
    using Time = std::chrono::steady_clock::time_point;
    using Duration = std::chrono::microseconds;

    struct Limits {
        double rounds = 100;     ///< in a row, that nobody waits for
        double per_second = 40;  ///< the same in the long run
        std::size_t enough =
            64;              ///< handlers: a round with less to do lets more gather, one with twice that less
        Duration step{500};  ///< longer by that at a time
        Duration longest{20'000};  ///< the most that anything waits
    };

    RoundPacer() = default;
    explicit RoundPacer(Limits limits) : limits_(limits) {}

    /// After a round that ran `handled` handlers and ended `now`.
    Duration pause_after(std::size_t handled, Time now);

private:
    Limits limits_ = {};
    double free_ = limits_.rounds;
    Duration pause_{0};
    Time last_ = {};
};

/// The time as run_in_rounds() goes by it.
struct RoundClock {
    std::function<RoundPacer::Time()> now = std::chrono::steady_clock::now;
    std::function<void(RoundPacer::Duration)> pause;  ///< of the whole thread
};
RoundClock make_round_clock();

/// As context.run(), with a RoundPacer's pauses between rounds. For one thread only. Whatever happens in
/// `context`, timers and signals included, may happen as much later as the longest pause.
void run_in_rounds(boost::asio::io_context& context, const RoundClock& clock = make_round_clock());

}  // namespace net
