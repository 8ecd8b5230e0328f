#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "api/object_key.hpp"

namespace kube {

/// A queue of keys that is fair over namespaces (start-time fair queueing). Each namespace has a queue of its
/// own. The next key is of the namespace whose reconciles have cost the least so far. An idle namespace saves
/// up nothing. Memory is held for namespaces with queued keys, with running reconciles, or with more cost
/// than the others. Thread rule: one thread.
class FairQueue {
    struct Flow;
    using Flows = std::map<std::string, Flow, std::less<>>;

public:
    /// The position of a queued key.
    struct Place {
        Flows::iterator flow;
        std::list<const api::ObjectKey*>::iterator at;
    };

    /// Appends a key to the queue of its namespace. The caller must not move it until it is popped or erased.
    Place push(const api::ObjectKey& key);
    void erase(const Place& place);

    /// Takes the first key for which `may(key, running)` is true. It asks for the first key of each
    /// namespace. `running` is the number of popped keys of that namespace that have not been given back.
    /// Returns nullptr if there is none.
    template <class May>
    const api::ObjectKey* pop(May may) {
        for (auto at = order_.begin(); at != order_.end();) {
            const Flows::iterator flow = (at++)->second;
            if (flow->second.line.empty())
                forget_if_idle(flow);
            else if (may(*flow->second.line.front(), flow->second.running))
                return take_first(flow);
        }
        return nullptr;
    }
    /// Adds the cost of a popped key's reconcile to its namespace. The unit is the cost of a usual reconcile.
    void charge(const std::string& ns, std::int64_t cost);
    /// Call it when the reconcile of a popped key has ended.
    void give_back(const std::string& ns);

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    /// Returns the number of namespaces in memory.
    std::size_t namespaces() const { return flows_.size(); }

private:
    struct Before {
        // Equal shares are ordered by name, so that the order is deterministic.
        bool operator()(const std::pair<std::int64_t, Flows::iterator>& a,
                        const std::pair<std::int64_t, Flows::iterator>& b) const;
    };
    struct Flow {
        std::list<const api::ObjectKey*> line = {};
        std::size_t running = 0;
        std::int64_t share = 0;  // the cost so far, and the place in `order_`
    };

    const api::ObjectKey* take_first(Flows::iterator flow);
    void set_share(Flows::iterator flow, std::int64_t share);
    void forget_if_idle(Flows::iterator flow);
    void begin_anew_if_empty();

    Flows flows_;
    std::set<std::pair<std::int64_t, Flows::iterator>, Before> order_;
    std::int64_t now_ = 0;  // the share of the namespace that was served last
    std::size_t size_ = 0;
    std::size_t running_ = 0;
};

}  // namespace kube
