#pragma once
#include <functional>
#include <list>
#include <optional>

#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"
#include "net/process/single_flight.hpp"
#include "runtime/build.hpp"

namespace controller {

/// Reads objects that all TrainJobs share (runtime::Need::shared_read): by name, once for all reconciles,
/// and keeps them while they are fresh. Keeps of each only its name and the wanted entry of `data`: Secrets
/// have more in them. Thread rule: one thread.
class SharedObjects {
public:
    /// Called when an object differs from what reconciles were given before.
    using Changed = std::function<void()>;

    explicit SharedObjects(
        kube::Clock& clock, Changed changed = [] {});

    /// Returns the object; nullopt if it does not exist. Keeps neither that result, nor an object without the
    /// wanted entry.
    kube::Async<std::optional<api::Json>> read(kube::ApiServer& server, runtime::Need need);

    /// Reads objects again that have become too old, until it is cancelled. Tries a failed read again a
    /// little later.
    net::Task<> keep_fresh(kube::ApiServer& server);

private:
    struct Entry {
        runtime::Need need = {};
        std::optional<api::Json> object = {};  ///< what reconciles were given last
        kube::SteadyTime fresh_until = {};
    };
    using Found = std::optional<api::Json>;

    Entry& entry_of(const runtime::Need& need);
    bool is_fresh(const Entry& entry) const { return entry.object && clock_.now() < entry.fresh_until; }
    kube::Async<Found> read_entry(kube::ApiServer& server, Entry& entry);

    kube::Clock& clock_;
    Changed changed_;
    std::list<Entry> entries_ = {};
    net::SingleFlight<const Entry*, api::Result<Found>> reads_;
};

}  // namespace controller
