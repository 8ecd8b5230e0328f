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

/// Which runtimes have changed, and whose users are to be looked at next. A runtime may have ten thousand
/// users, and change twenty times a second: they are looked at in parts, as many a second of one namespace's
/// runtimes as an event loop can reconcile, and the namespace that has had the least comes first. A runtime
/// that changes again meanwhile is looked at once more, from the beginning. Cluster-scoped runtimes count as
/// one namespace. Memory is held for runtimes that wait, and for namespaces that have had more than their
/// share. Thread rule: one thread.
class ChangedRuntimes {
public:
    static constexpr std::chrono::milliseconds per_user{1};
    /// What a namespace that was quiet may have at once.
    static constexpr std::chrono::seconds in_a_row{1};

    /// A part of the users of a runtime.
    struct Turn {
        std::string ns = {};
        std::size_t runtime = 0;
        const api::ObjectKey* last = nullptr;  ///< the one that was looked at last; nullptr: none
    };

    /// `runtime` is a number for it, and `ns` its namespace.
    void note(const std::string& ns, std::size_t runtime);
    /// Returns what to look at now; ended() must follow. nullopt: nothing, before next_at().
    std::optional<Turn> next(kube::SteadyTime now);
    /// So many users were looked at, up to `turn.last`; `at_end`: it has no more.
    void ended(const Turn& turn, std::size_t users, bool at_end, kube::SteadyTime now);
    /// Returns when next() has something; a time in the past means now. nullopt: not before note().
    std::optional<kube::SteadyTime> next_at() const;

    std::size_t namespaces() const { return flows_.size(); }

private:
    struct Walk {
        const api::ObjectKey* last = nullptr;
        bool again = false;  // it has changed since it began
    };
    struct Flow {
        std::deque<std::size_t> line = {};
        std::unordered_map<std::size_t, Walk> walks = {};  // of those in line
        kube::SteadyTime free_at = {};
    };
    using Flows = std::map<std::string, Flow>;

    Flows::const_iterator first() const;

    Flows flows_;
};

}  // namespace controller
