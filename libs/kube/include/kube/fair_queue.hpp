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

/// Keys in line, fair over namespaces (start-time fair queueing): each namespace has a line of its own, and
/// the next key is of the one that has had the least so far, by what its passes cost. A namespace that was
/// idle has saved nothing up. Memory is held for namespaces with keys in line, with passes that run, or ahead
/// of the others. Thread rule: one thread.
class FairQueue {
    struct Flow;
    using Flows = std::map<std::string, Flow, std::less<>>;

public:
    /// Where a key stands in line.
    struct Place {
        Flows::iterator flow;
        std::list<const api::ObjectKey*>::iterator at;
    };

    /// The key must stay where it is until it is popped or erased.
    Place push(const api::ObjectKey& key);
    void erase(const Place& place);

    /// Takes the first key that may go, asked of the first of each namespace: `may(key, running)`, with the
    /// number of popped keys of its namespace that have not been given back. nullptr if there is none.
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
    /// What the pass of a popped key costs, in costs of a usual one.
    void charge(const std::string& ns, std::int64_t cost);
    /// The pass of a popped key has ended.
    void give_back(const std::string& ns);

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    /// That have something in memory.
    std::size_t namespaces() const { return flows_.size(); }

private:
    struct Before {
        // Equal shares keep the order of names: any will do, and it is the same every time.
        bool operator()(const std::pair<std::int64_t, Flows::iterator>& a,
                        const std::pair<std::int64_t, Flows::iterator>& b) const;
    };
    struct Flow {
        std::list<const api::ObjectKey*> line = {};
        std::size_t running = 0;
        std::int64_t share = 0;  // when it has had as much as this, it is its turn
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
