#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "api/time.hpp"
#include "kube/client/clock.hpp"

namespace model {

using namespace std::chrono_literals;

/// Virtual time and its actions: it jumps from one action to the next. Actions of the same time keep their
/// order.
class VirtualTime {
public:
    using Action = std::function<void()>;
    using Entry = std::pair<kube::SteadyTime, std::uint64_t>;

    kube::SteadyTime now() const { return now_; }
    kube::MicroTime wall() const {
        return wall_start + std::chrono::duration_cast<std::chrono::microseconds>(now_ - start);
    }
    api::Time wall_seconds() const { return std::chrono::floor<std::chrono::seconds>(wall()); }

    Entry at(kube::SteadyTime when, Action action) {
        const Entry entry = {std::max(when, now_), made_++};
        actions_.emplace(entry, std::move(action));
        return entry;
    }
    Entry after(std::chrono::milliseconds delay, Action action) {
        return at(now_ + delay, std::move(action));
    }
    void cancel(const Entry& entry) { actions_.erase(entry); }
    /// Drops all actions.
    void forget() { const auto all = std::exchange(actions_, {}); }

    void run_until(kube::SteadyTime end) {
        while (!actions_.empty() && actions_.begin()->first.first <= end) {
            auto next = actions_.extract(actions_.begin());
            now_ = std::max(now_, next.key().first);
            next.mapped()();
        }
        now_ = std::max(now_, end);
    }
    void run_for(std::chrono::milliseconds duration) { run_until(now_ + duration); }

    static constexpr kube::SteadyTime start = kube::SteadyTime(std::chrono::hours(1000));
    static constexpr kube::MicroTime wall_start = std::chrono::sys_days(std::chrono::year(2026) / 1 / 15);

private:
    kube::SteadyTime now_ = start;
    std::map<Entry, Action> actions_;
    std::uint64_t made_ = 0;
};

}  // namespace model
