#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "api/object_key.hpp"
#include "kube/clock.hpp"
#include "kube/event_limit.hpp"
#include "kube/fair_queue.hpp"

namespace kube {

/// Which objects want a pass, and when. One pass per key at a time; whatever happens during a pass folds into
/// one more pass after it. Passes are shared between namespaces by what they cost (FairQueue), and events
/// bring only so many to one key (EventLimit). Memory is held only for keys that wait, run, have failed, or
/// had a pass a moment ago. Thread rule: one thread.
class WorkQueue {
public:
    static constexpr std::chrono::seconds first_backoff{1};
    static constexpr std::chrono::seconds max_backoff{5 * 60};
    /// A pass that costs that much is a dear one. Dear passes run side by side only as long as they cost no
    /// more than `most_of_dear` together: each holds the event loop and memory for a while.
    static constexpr std::int64_t dear = 4;
    static constexpr std::int64_t most_of_dear = 192;

    /// What a pass over that object will cost, in costs of a usual one; asked before it starts.
    using Cost = std::function<std::int64_t(const api::ObjectKey&)>;

    /// For `slots` passes at a time. The last eighth of them is for namespaces that have no pass running, so
    /// that those of one namespace, however slow, leave a place for others.
    explicit WorkQueue(
        std::size_t slots = std::numeric_limits<std::size_t>::max(),
        Cost cost = [](const api::ObjectKey&) { return 1; })
        : slots_(slots), cost_(std::move(cost)) {}

    /// Something changed: a pass as soon as possible. Overtakes a backoff (what failed may work now), but not
    /// the server's Retry-After, nor the limit of passes that events bring.
    void add(const api::ObjectKey& key, SteadyTime now);
    /// A pass at `when` at the latest; of several the earliest wins, and any pass that starts before uses it
    /// up. Overtakes all limits of add(): a deadline must not wait for an hour because a server said so.
    void add_after(const api::ObjectKey& key, SteadyTime when);

    /// The key whose pass starts now; nullopt if none is due, or none may start before another pass ends.
    /// Those of one namespace come in the order in which they became due.
    std::optional<api::ObjectKey> next(SteadyTime now);

    /// No pass now, as it turned out: the key is wanted again at `when`, or before if something happens.
    void postpone(const api::ObjectKey& key, SteadyTime when);

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
    /// When next() has something to give; a time that has passed = now. nullopt: not before a pass ends or a
    /// key is added.
    std::optional<SteadyTime> next_wakeup() const;
    /// Something is due, and may not start before another pass ends.
    bool is_full() const { return full_ || running_ >= slots_; }

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
    struct Item {
        bool running = false;
        bool again = false;  // something happened during the pass
        int failures = 0;
        std::optional<SteadyTime> due = {};  // asked for during the pass
        SteadyTime not_before = {};          // the server's Retry-After
        std::int64_t cost = 0;               // of the pass that runs
        std::optional<FairQueue::Place> ready = {};
        std::optional<Timers::iterator> timer = {};
    };

    void schedule(Items::value_type& entry, SteadyTime when);
    void unschedule(Item& item);
    void make_ready(Items::value_type& entry);
    void want(Items::value_type& entry, SteadyTime now);
    void stop(Items::value_type& entry);
    void finish(Items::iterator at, SteadyTime now);
    void ripen(SteadyTime now);
    const api::ObjectKey* take_next(std::int64_t& cost);

    std::size_t slots_;
    Cost cost_;
    Items items_;
    FairQueue ready_;
    EventLimit events_;
    bool full_ = false;
    std::int64_t dear_running_ = 0;
    Timers timers_;
    std::uint64_t timers_made_ = 0;
    std::size_t running_ = 0;
};

}  // namespace kube
