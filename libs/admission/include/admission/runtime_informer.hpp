#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "admission/rare_log.hpp"
#include "admission/runtime_lister.hpp"
#include "kube/client/clock.hpp"
#include "kube/watch/store.hpp"
#include "net/process/log.hpp"

namespace admission {

/// Stores both kinds of runtimes as their watches report them, and calls a handler for every change. The
/// bytes of the namespaced ones are bounded, in total and for each namespace. Those above the bound are not
/// stored, which is logged, but not for each of many writes; a review that uses one reads it from the API
/// server. Thread rule: one thread; any thread may read the texts.
class RuntimeInformer {
public:
    /// Called for each change. An empty `runtime`: it was deleted, or is not stored. Keys as in
    /// RuntimeLister.
    using OnRuntime = std::function<void(const api::ObjectKey& key, const RuntimeTextPtr& runtime)>;

    /// Bytes of namespaced runtimes, as RuntimeText::bytes() counts.
    struct Bounds {
        std::size_t of_all = 16'000'000;
        std::size_t of_namespace = 2'000'000;
    };

    /// Creates the informer of the TrainingRuntimes in `namespaces`, and of all ClusterTrainingRuntimes. The
    /// clock and the log must outlive it.
    RuntimeInformer(OnRuntime on_runtime, kube::Clock& clock, net::Log& log,
                    const kube::Namespaces& namespaces = {});

    /// A collection, and the sink of its watch.
    struct Collection {
        kube::Scope scope;
        kube::Sink& sink;
    };
    /// Returns the collections to watch; valid as long as the informer.
    std::vector<Collection> collections();
    std::size_t size() const { return namespaced_.size() + cluster_.size(); }

private:
    using Store = kube::Store<RuntimeTextPtr>;

    std::optional<RuntimeTextPtr> take_namespaced(api::Json& object);
    void note_no_room(const api::ObjectKey& key);
    void account(const std::string& ns, const Store::Entry* before, const Store::Entry* after);

    const Bounds bounds_ = {};
    std::map<std::string, std::size_t> taken_ = {};  // by namespace
    std::size_t taken_by_all_ = 0;
    OnRuntime on_runtime_;
    kube::Clock& clock_;
    net::Log& log_;
    RareEvents no_room_ = {};
    Store namespaced_;
    Store cluster_;
};

}  // namespace admission
