#pragma once
#include <chrono>
#include <cstdint>
#include <unordered_map>

#include "api/object_key.hpp"
#include "kube/clock.hpp"

namespace kube {

/// How often events bring a pass over one and the same object: some passes in a row, and then one in so much
/// time as they are worth, so that no object takes more than a small part of the event loop and of the API
/// server. A bucket of time per key, which empties by itself. Memory is held only for keys whose passes are
/// not long ago. Thread rule: one thread.
class EventLimit {
public:
    using Duration = std::chrono::milliseconds;
    /// What a usual pass is worth.
    static constexpr Duration usual{1000};
    /// What one of that cost is worth, if that is more: a cost is about a millisecond of the event loop.
    static constexpr Duration per_cost{20};
    /// The passes in a row.
    static constexpr Duration in_a_row{10'000};

    /// A pass that has ended.
    void spend(const api::ObjectKey& key, std::int64_t cost, SteadyTime now);
    /// When an event may bring the next one; a time that has passed = now.
    SteadyTime next(const api::ObjectKey& key) const;

    std::size_t size() const { return empty_at_.size(); }

private:
    static constexpr std::size_t few = 64;

    std::unordered_map<api::ObjectKey, SteadyTime> empty_at_;
    std::size_t clean_at_ = few;
};

}  // namespace kube
