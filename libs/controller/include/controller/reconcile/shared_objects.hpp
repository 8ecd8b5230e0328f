#pragma once
#include <functional>
#include <list>
#include <optional>

#include "controller/reconcile/wait_list.hpp"
#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"
#include "runtime/build.hpp"

namespace controller {

/// Objects that all TrainJobs have in common (runtime::Need::shared_read): read by name, once for all, and
/// kept as long as they may be old. Of each only its name and the wanted entry of `data` are kept: Secrets
/// have more in them. Thread rule: one thread.
class SharedObjects {
public:
    /// Called when an object differs from what reconciles were given before.
    using Changed = std::function<void()>;

    explicit SharedObjects(
        kube::Clock& clock, Changed changed = [] {})
        : clock_(clock), changed_(std::move(changed)) {}

    /// nullopt if it does not exist; that, and an object without the wanted entry, are not kept.
    kube::Async<std::optional<api::Json>> read(kube::ApiServer& server, runtime::Need need);

    /// Reads again what has become too old, for ever; what cannot be read is tried again a little later.
    net::Task<> keep_fresh(kube::ApiServer& server);

private:
    struct Entry {
        runtime::Need need = {};
        std::optional<api::Json> object = {};  ///< what reconciles were given last
        kube::SteadyTime fresh_until = {};
        bool is_being_read = false;
        WaitList waiting = {};
    };
    class Turn;

    Entry& entry_of(const runtime::Need& need);

    kube::Clock& clock_;
    Changed changed_;
    std::list<Entry> entries_ = {};
};

}  // namespace controller
