#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <limits>

namespace net {

/// The value of Awaited for a loop whose input does not depend on its requests.
inline constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
/// Returns how many responses can arrive before the loop sends another request; `unlimited` while it may send
/// at any time.
using ExpectedCompletions = std::function<std::size_t()>;

/// Computes how long a busy event loop sleeps between two rounds, so that responses gather. Network cards
/// moderate interrupts in the same way: a wake-up for one response costs more than the response itself
/// (docs/design/measurements.md). Counts are of handlers that the loop has run: some 40 for creating a
/// job, and 50 for suspending it.
class PollPacer {
public:
    using Time = std::chrono::steady_clock::time_point;
    using Duration = std::chrono::microseconds;

    static constexpr double free_in_a_row = 1000;     ///< handlers in a row without a pause
    static constexpr double free_per_second = 1500;   ///< the same per second in the long run
    static constexpr std::size_t enough = 64;         ///< a round with fewer handlers lengthens the pause
    static constexpr Duration step{500};              ///< by which one round lengthens the pause
    static constexpr Duration longest_pause{20'000};  ///< the longest delay of any handler

    /// Returns the pause after a round that ran `handled` handlers and ended at `now`. `awaited` is the
    /// number of responses that can arrive before the loop sends another request; a pause for more than these
    /// gains nothing.
    Duration pause_after(std::size_t handled, Time now, std::size_t awaited);

private:
    double free_ = free_in_a_row;
    Duration pause_{0};
    Time last_ = {};
};

/// The clock and the sleep of run_paced(), which tests replace.
struct RoundClock {
    std::function<PollPacer::Time()> now = std::chrono::steady_clock::now;
    std::function<void(PollPacer::Duration)> pause;  ///< blocks the thread
};
RoundClock make_round_clock();

/// As context.run(), with the pauses of a PollPacer between rounds. Any handler of `context`, also of a
/// timer or a signal, may run later by up to the longest pause. Thread rule: only one thread may run
/// `context`.
void run_paced(boost::asio::io_context& context, const ExpectedCompletions& awaited,
               const RoundClock& clock = make_round_clock());

}  // namespace net
