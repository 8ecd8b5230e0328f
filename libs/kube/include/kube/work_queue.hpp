#pragma once
#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
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
    /// up. Overtakes Retry-After as well: a deadline must not wait for an hour because a server said so.
    void add_after(const api::ObjectKey& key, SteadyTime when);

    /// The key whose pass starts now; nullopt if none is due. In the order in which they became due.
    std::optional<api::ObjectKey> next(SteadyTime now);

    /// The pass ended well: its backoff is forgotten. A key that is done and not wanted again costs no
    /// memory.
    void done(const api::ObjectKey& key, SteadyTime now);
    /// The pass failed: another one after `retry_after`, or after the key's backoff (1 s doubling to 5 min).
    /// Events wait for `retry_after`. Returns how long that is.
    std::chrono::seconds failed(const api::ObjectKey& key, SteadyTime now,
                                std::optional<std::chrono::seconds> retry_after = {});
    /// There is no such object any more: it wants no pass, and costs no memory. One whose pass runs stays,
    /// and one that the server's Retry-After holds back: that counts for the next object of the name as well.
    void forget(const api::ObjectKey& key);
    /// The key means another object now: the failures of the former one do not count.
    void forgive(const api::ObjectKey& key);
    /// When next() has something to give; a time that has passed = now. nullopt: nothing waits.
    std::optional<SteadyTime> next_wakeup() const;

    std::size_t ready() const { return ready_.size(); }     ///< due, not started
    std::size_t waiting() const { return timers_.size(); }  ///< for their time
    std::size_t running() const { return running_; }
    /// Passes of this key that failed in a row.
    int failures(const api::ObjectKey& key) const;

private:
    struct Item;
    using Items = std::unordered_map<api::ObjectKey, Item>;
    // Keys are pointed to inside items_, whose nodes stay where they are. The number keeps equal times in
    // order.
    using Timers = std::map<std::pair<SteadyTime, std::uint64_t>, const api::ObjectKey*>;
    using Ready = std::list<const api::ObjectKey*>;
    struct Item {
        bool running = false;
        bool again = false;  // something happened during the pass
        int failures = 0;
        std::optional<SteadyTime> due = {};  // asked for during the pass
        SteadyTime not_before = {};          // the server's Retry-After
        std::optional<Ready::iterator> ready = {};
        std::optional<Timers::iterator> timer = {};
    };

    void schedule(Items::value_type& entry, SteadyTime when);
    void unschedule(Item& item);
    void make_ready(Items::value_type& entry);
    void want(Items::value_type& entry, SteadyTime now);
    void finish(Items::iterator at, SteadyTime now);
    void ripen(SteadyTime now);

    Items items_;
    Ready ready_;
    Timers timers_;
    std::uint64_t timers_made_ = 0;
    std::size_t running_ = 0;
};

}  // namespace kube
