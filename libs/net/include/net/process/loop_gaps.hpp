#pragma once
#include <chrono>
#include <functional>
#include <list>
#include <mutex>

#include "net/process/async.hpp"

namespace net {

class Metrics;

/// Measures how long event loops leave ready handlers waiting: the gap between two turns of a loop. The cause
/// does not matter: a slow handler, a file system, a CPU quota. Thread rule: any thread.
class LoopGaps {
public:
    using Time = std::chrono::steady_clock::time_point;
    using Duration = std::chrono::steady_clock::duration;

    /// A gap is forgotten one to two of these after its end, so that one scrape per minute misses none.
    static constexpr std::chrono::seconds remembered_for{60};
    /// The precision: a gap is measured less this period.
    static constexpr std::chrono::milliseconds usual_period{50};

    explicit LoopGaps(std::chrono::milliseconds period = usual_period,
                      std::function<Time()> now = std::chrono::steady_clock::now)
        : period_(period), now_(std::move(now)) {}
    LoopGaps(const LoopGaps&) = delete;
    LoopGaps& operator=(const LoopGaps&) = delete;

    /// Measures the event loop that it runs on until it is cancelled. Must not outlive this object.
    Task<> watch();
    /// Returns the longest recent gap of all loops, including a gap that still lasts.
    Duration longest() const;

private:
    struct Loop {
        Time last_turn;
    };
    class Member;

    Duration gap_of(const Loop& loop, Time now) const;
    void note_turn(Loop& loop);
    void forget_old(Time now) const;

    const std::chrono::milliseconds period_;
    const std::function<Time()> now_;
    mutable std::mutex mutex_;
    std::list<Loop> loops_ = {};
    mutable Time since_ = {};  ///< the start of the window of `latest_`
    mutable Duration latest_{0};
    mutable Duration former_{0};
};

/// Adds the gauge signalbox_event_loop_longest_gap_seconds. `gaps` must outlive the last exposition.
void add_loop_metrics(Metrics& metrics, const LoopGaps& gaps);

}  // namespace net
