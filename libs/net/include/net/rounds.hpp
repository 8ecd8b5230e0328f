#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <limits>

namespace net {

/// Of what a loop may be waiting for, when what comes does not depend on what it has asked.
inline constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
/// How many answers can come before a loop asks again; `unlimited` as long as it asks whenever it likes to.
using Awaited = std::function<std::size_t()>;

/// How long an event loop that has much to do all the time lets answers gather before it looks for them, as
/// network cards moderate interrupts: to be woken for one answer costs more than the answer does
/// (docs/performance.md). All counts are of handlers that the loop has run; a job takes about a hundred.
class RoundPacer {
public:
    using Time = std::chrono::steady_clock::time_point;
    using Duration = std::chrono::microseconds;

    static constexpr double free_in_a_row = 1000;     ///< that nothing waits for
    static constexpr double free_per_second = 500;    ///< the same in the long run
    static constexpr std::size_t enough = 64;         ///< a round with fewer lets more gather
    static constexpr Duration step{500};              ///< the pause is longer by that at a time
    static constexpr Duration longest_pause{20'000};  ///< the most that anything waits

    /// After a round that ran `handled` handlers and ended `now`, if no more than `awaited` answers can come
    /// before the loop asks again: then there is no use in waiting for more.
    Duration pause_after(std::size_t handled, Time now, std::size_t awaited);

private:
    double free_ = free_in_a_row;
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
void run_in_rounds(boost::asio::io_context& context, const Awaited& awaited,
                   const RoundClock& clock = make_round_clock());

}  // namespace net
