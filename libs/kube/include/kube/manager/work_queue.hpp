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
#include "kube/client/clock.hpp"
#include "kube/manager/fair_queue.hpp"

namespace kube {

/// Limits how often events start reconciles of one object: some reconciles in a row, then one per the time
/// that it costs. So one object takes only a small share of the event loop and of the API server. Each key
/// has a token bucket of time. Thread rule: one thread.
class EventLimit {
public:
    using Duration = std::chrono::milliseconds;
    /// The time that a usual reconcile costs.
    static constexpr Duration usual{1000};
    /// The time that one unit of cost adds, if that is more in sum. A unit is about a millisecond of the
    /// event loop.
    static constexpr Duration per_cost{20};
    /// The maximum time of reconciles in a row.
    static constexpr Duration in_a_row{10'000};

    /// Records a reconcile that has ended.
    void spend(const api::ObjectKey& key, std::int64_t cost, SteadyTime now);
    /// Returns when an event may start the next reconcile; a time in the past means now.
    SteadyTime next(const api::ObjectKey& key) const;

    /// Frees the memory of keys without recent reconciles. spend() does it from time to time.
    void forget_old(SteadyTime now);
    std::size_t size() const { return empty_at_.size(); }

private:
    static constexpr std::size_t few = 64;

    std::unordered_map<api::ObjectKey, SteadyTime> empty_at_;
    std::size_t clean_at_ = few;
};

/// The keys of objects to reconcile, and when. It starts one reconcile per key at a time; changes during a
/// reconcile cause one more reconcile after it. Namespaces share reconciles by their cost (FairQueue), and
/// events can start only a limited number for one key (EventLimit). Memory is held only for keys that wait,
/// run, have failed, or were reconciled a moment ago. Thread rule: one thread.
class WorkQueue {
public:
    static constexpr std::chrono::seconds first_backoff{1};
    static constexpr std::chrono::seconds max_backoff{5 * 60};
    /// A reconcile is expensive from this cost on. Expensive ones run side by side only up to a cost of
    /// `most_of_expensive` in sum, since each holds the event loop and memory for a while.
    static constexpr std::int64_t expensive = 4;
    static constexpr std::int64_t most_of_expensive = 192;

    /// Returns the cost of the reconcile of an object, in units of a usual one. Called before the reconcile
    /// starts.
    using Cost = std::function<std::int64_t(const api::ObjectKey&)>;

    /// Runs at most `slots` reconciles at a time. The last eighth of the slots is for namespaces without a
    /// running reconcile, so that slow reconciles of one namespace leave slots for others.
    explicit WorkQueue(
        std::size_t slots = std::numeric_limits<std::size_t>::max(),
        Cost cost = [](const api::ObjectKey&) { return 1; })
        : slots_(slots), cost_(std::move(cost)) {}

    /// Enqueues a key after a change, as soon as possible. Overrides a backoff, since the retry may succeed
    /// now, but neither the server's Retry-After nor the limit of reconciles that events start.
    void add(const api::ObjectKey& key, SteadyTime now);
    /// Enqueues a key at `when` at the latest. The earliest of several times counts, and any reconcile that
    /// starts before uses it up. Overrides all limits of add(): a deadline must not wait for an hour because
    /// of a server's Retry-After.
    void add_after(const api::ObjectKey& key, SteadyTime when);

    /// Returns the key to reconcile now; nullopt if none is due, or none may start before another reconcile
    /// ends. Keys of one namespace are returned in the order in which they became due.
    std::optional<api::ObjectKey> next(SteadyTime now);

    /// Ends the reconcile without its cost: requeues the key at `when`, or earlier after an event.
    void postpone(const api::ObjectKey& key, SteadyTime when);

    /// Ends the reconcile as a success and resets the backoff. Then a key that is not enqueued again takes no
    /// memory.
    void done(const api::ObjectKey& key, SteadyTime now);
    /// Ends the reconcile as a failure. Requeues the key after `retry_after`, or after its backoff (1 s
    /// doubling to 5 min). Events wait for `retry_after`. Returns the delay.
    std::chrono::seconds failed(const api::ObjectKey& key, SteadyTime now,
                                std::optional<std::chrono::seconds> retry_after = {});
    /// Removes the key of an object that no longer exists. A key stays while its reconcile runs, or while the
    /// server's Retry-After delays it: that also holds for the next object of the name.
    void forget(const api::ObjectKey& key);
    /// Resets the failures of a key that now belongs to another object.
    void forgive(const api::ObjectKey& key);
    /// Returns when next() has a key; a time in the past means now. nullopt: not before a reconcile ends or a
    /// key is added.
    std::optional<SteadyTime> next_wakeup() const;

    std::size_t ready() const { return ready_.size(); }     ///< keys that are due and not started
    std::size_t waiting() const { return timers_.size(); }  ///< keys whose time has not come
    std::size_t running() const { return running_; }
    /// Returns how many reconciles of this key failed in a row.
    int failures(const api::ObjectKey& key) const;

private:
    struct Item;
    using Items = std::unordered_map<api::ObjectKey, Item>;
    // The values point to keys in `items_`, whose nodes do not move. The number keeps equal times in order.
    using Timers = std::map<std::pair<SteadyTime, std::uint64_t>, const api::ObjectKey*>;
    struct Item {
        bool running = false;
        bool again = false;  // an event came during the reconcile
        int failures = 0;
        std::optional<SteadyTime> due = {};  // requested during the reconcile
        SteadyTime not_before = {};          // by the server's Retry-After
        std::int64_t cost = 0;               // of the running reconcile
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
    std::int64_t expensive_running_ = 0;
    Timers timers_;
    std::uint64_t timers_made_ = 0;
    std::size_t running_ = 0;
};

}  // namespace kube
