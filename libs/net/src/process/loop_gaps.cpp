#include "net/process/loop_gaps.hpp"

#include <algorithm>

#include "net/process/metrics.hpp"
#include "net/process/timer.hpp"

namespace net {

class LoopGaps::Member {
public:
    explicit Member(LoopGaps& gaps) : gaps_(gaps) {
        const std::lock_guard lock(gaps_.mutex_);
        at_ = gaps_.loops_.insert(gaps_.loops_.end(), Loop{gaps_.now_()});
    }
    ~Member() {
        const std::lock_guard lock(gaps_.mutex_);
        gaps_.loops_.erase(at_);
    }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    void note_turn() { gaps_.note_turn(*at_); }

private:
    LoopGaps& gaps_;
    std::list<Loop>::iterator at_ = {};
};

Task<> LoopGaps::watch() {
    Member loop(*this);
    for (;;) {
        co_await sleep_for(period_);
        loop.note_turn();
    }
}

LoopGaps::Duration LoopGaps::gap_of(const Loop& loop, Time now) const {
    return std::max<Duration>(now - loop.last_turn - period_, Duration(0));
}

void LoopGaps::note_turn(Loop& loop) {
    const std::lock_guard lock(mutex_);
    const Time now = now_();
    forget_old(now);
    latest_ = std::max(latest_, gap_of(loop, now));
    loop.last_turn = now;
}

void LoopGaps::forget_old(Time now) const {
    if (now < since_ + remembered_for) return;
    former_ = now < since_ + 2 * remembered_for ? latest_ : Duration(0);
    latest_ = Duration(0);
    since_ = now;
}

LoopGaps::Duration LoopGaps::longest() const {
    const std::lock_guard lock(mutex_);
    const Time now = now_();
    forget_old(now);
    Duration found = std::max(latest_, former_);
    for (const Loop& loop : loops_) found = std::max(found, gap_of(loop, now));
    return found;
}

void add_loop_metrics(Metrics& metrics, const LoopGaps& gaps) {
    metrics.read_gauge("signalbox_event_loop_longest_gap_seconds",
                       "The longest time in the last minute or two for which an event loop kept waiting what "
                       "was ready.",
                       [&gaps] { return std::chrono::duration<double>(gaps.longest()).count(); });
}

}  // namespace net
