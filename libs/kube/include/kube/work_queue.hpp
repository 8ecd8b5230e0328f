#pragma once
#include <chrono>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "api/object_key.hpp"
#include "kube/clock.hpp"

namespace kube {

/// Which objects want a pass, and when. One pass per key at a time; whatever happens during a pass folds into
/// one more pass after it. Memory is held only for keys that wait, run, or have failed. Thread rule: one
/// thread.
class WorkQueue {
public:
    static constexpr std::chrono::seconds first_backoff{1};
    static constexpr std::chrono::seconds max_backoff{5 * 60};

    /// Something changed: a pass as soon as possible. Overtakes a backoff (what failed may work now), but not
    /// the server's Retry-After.
    void add(const api::ObjectKey& key, SteadyTime now);
    /// A pass at `when` at the latest; of several the earliest wins, and any pass that starts before uses it
    /// up.
    void add_after(const api::ObjectKey& key, SteadyTime when);

    /// The key whose pass starts now; nullopt if none is due. In the order in which they became due.
    std::optional<api::ObjectKey> next(SteadyTime now);

    /// The pass ended well: its backoff is forgotten.
    void done(const api::ObjectKey& key, SteadyTime now);
    /// The pass failed: another one after `retry_after`, or after the key's backoff (1 s doubling to 5 min),
    /// and never before `retry_after`. Returns how long that is.
    std::chrono::seconds failed(const api::ObjectKey& key, SteadyTime now,
                                std::optional<std::chrono::seconds> retry_after = {});
    /// The object is gone: forget everything about it, once its pass (if one runs) is done.
    void forget(const api::ObjectKey& key);

    /// When next() has something to give; a time that has passed = now. nullopt: nothing waits.
    std::optional<SteadyTime> next_wakeup() const;

    std::size_t ready() const { return ready_.size(); }     ///< due, not started
    std::size_t waiting() const { return timers_.size(); }  ///< for their time
    std::size_t running() const { return running_; }
    /// Passes of this key that failed in a row.
    int failures(const api::ObjectKey& key) const;

private:
    struct Item {
        bool running = false;
        bool ready = false;  // in ready_
        bool again = false;  // something happened during the pass
        int failures = 0;
        std::optional<SteadyTime> due = {};  // in timers_, or while running to be
        SteadyTime not_before = {};          // the server's Retry-After
    };
    using Items = std::unordered_map<api::ObjectKey, Item>;

    void schedule(const api::ObjectKey& key, Item& item, SteadyTime when);
    void make_ready(const api::ObjectKey& key, Item& item);
    void unschedule(const api::ObjectKey& key, Item& item);
    void finish(Items::iterator at, SteadyTime now);
    void ripen(SteadyTime now);

    Items items_;
    std::deque<api::ObjectKey> ready_;
    std::set<std::pair<SteadyTime, api::ObjectKey>> timers_;
    std::size_t running_ = 0;
};

}  // namespace kube
