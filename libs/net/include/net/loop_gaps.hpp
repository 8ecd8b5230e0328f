#pragma once
#include <chrono>
#include <functional>
#include <list>
#include <mutex>

#include "net/async.hpp"

namespace net {

class Metrics;

/// How long event loops leave what is ready waiting: the gap between one turn and the next, whatever it comes
/// from (a handler that takes long, a file system, a CPU quota). Thread rule: any thread.
class LoopGaps {
public:
    using Time = std::chrono::steady_clock::time_point;
    using Duration = std::chrono::steady_clock::duration;

    /// Gaps are forgotten one to two of these after their end, so that a scrape a minute misses none.
    static constexpr std::chrono::seconds remembered_for{60};
    /// A gap is known but for that.
    static constexpr std::chrono::milliseconds usual_period{50};

    explicit LoopGaps(std::chrono::milliseconds period = usual_period,
                      std::function<Time()> now = std::chrono::steady_clock::now)
        : period_(period), now_(std::move(now)) {}
    LoopGaps(const LoopGaps&) = delete;
    LoopGaps& operator=(const LoopGaps&) = delete;

    /// Looks after the event loop that it runs on, until it is cancelled. Must not outlive this object.
    Task<> watch();
    /// The longest of late, of all loops; one that still lasts counts as well.
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
    mutable Time since_ = {};  ///< when `latest_` began
    mutable Duration latest_{0};
    mutable Duration former_{0};
};

/// signalbox_event_loop_longest_gap_seconds. The gaps must outlive the last exposition.
void add_loop_metrics(Metrics& metrics, const LoopGaps& gaps);

}  // namespace net
