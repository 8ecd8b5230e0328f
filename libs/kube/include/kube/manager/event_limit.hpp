#pragma once
#include <chrono>
#include <cstdint>
#include <unordered_map>

#include "api/object_key.hpp"
#include "kube/client/clock.hpp"

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

}  // namespace kube
