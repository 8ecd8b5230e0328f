#pragma once
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "api/object_key.hpp"
#include "kube/client/clock.hpp"

namespace controller {

/// Decides which runtime's TrainJobs to enqueue next. A runtime may have ten thousand TrainJobs, and change
/// twenty times a second. They are enqueued in parts, at a rate per namespace that an event loop can
/// reconcile, and the namespace with the least share comes first. A runtime that changes again meanwhile
/// starts once more from the beginning. Cluster-scoped runtimes count as one namespace. Uses memory for
/// runtimes that wait, and for namespaces above their share. Thread rule: one thread.
class ChangedRuntimes {
public:
    static constexpr std::chrono::milliseconds per_user{1};
    /// The share of a quiet namespace at once.
    static constexpr std::chrono::seconds in_a_row{1};

    /// A part of the TrainJobs of a runtime.
    struct Turn {
        std::string ns = {};
        std::size_t runtime = 0;
        const api::ObjectKey* last = nullptr;  ///< the last one of the part before; nullptr: none
    };

    /// Adds a changed runtime. `runtime` is a number for it, and `ns` its namespace.
    void note(const std::string& ns, std::size_t runtime);
    /// Returns the next part; ended() must follow. nullopt: none before next_at().
    std::optional<Turn> next(kube::SteadyTime now);
    /// Reports the number of enqueued TrainJobs, up to `turn.last`; `at_end`: there are no more.
    void ended(const Turn& turn, std::size_t users, bool at_end, kube::SteadyTime now);
    /// Returns when next() has something; a time in the past means now. nullopt: not before note().
    std::optional<kube::SteadyTime> next_at() const;

    std::size_t namespaces() const { return flows_.size(); }

private:
    struct Walk {
        const api::ObjectKey* last = nullptr;
        bool again = false;  // it has changed since its first part
    };
    struct Flow {
        std::deque<std::size_t> line = {};
        std::unordered_map<std::size_t, Walk> walks = {};  // of waiting ones
        kube::SteadyTime free_at = {};
    };
    using Flows = std::map<std::string, Flow>;

    Flows::const_iterator first() const;

    Flows flows_;
};

}  // namespace controller
