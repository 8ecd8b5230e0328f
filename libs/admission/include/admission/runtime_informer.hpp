#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "admission/runtime_lister.hpp"
#include "kube/watch/store.hpp"

namespace admission {

/// Stores both kinds of runtimes as their watches report them, and calls a handler for every change. The
/// bytes of the namespaced ones are bounded, in total and for each namespace. Those above the bound are not
/// stored; a review that uses one reads it from the API server. Thread rule: one thread; any thread may read
/// the texts.
class RuntimeInformer {
public:
    /// Called for each change. An empty `runtime`: it was deleted, or is not stored. Keys as in
    /// RuntimeLister.
    using OnRuntime = std::function<void(const api::ObjectKey& key, const RuntimeTextPtr& runtime)>;
    /// Called for a runtime above the bound.
    using OnNoRoom = std::function<void(const api::ObjectKey& key)>;

    /// Bytes of namespaced runtimes, as RuntimeText::bytes() counts.
    struct Bounds {
        std::size_t of_all = 16'000'000;
        std::size_t of_namespace = 2'000'000;
    };

    /// Creates the informer of the TrainingRuntimes in `namespaces`, and of all ClusterTrainingRuntimes.
    explicit RuntimeInformer(
        OnRuntime on_runtime, const kube::Namespaces& namespaces = {},
        OnNoRoom on_no_room = [](const api::ObjectKey&) {});

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
    void account(const std::string& ns, const Store::Entry* before, const Store::Entry* after);

    const Bounds bounds_ = {};
    std::map<std::string, std::size_t> taken_ = {};  // by namespace
    std::size_t taken_by_all_ = 0;
    OnRuntime on_runtime_;
    OnNoRoom on_no_room_;
    Store namespaced_;
    Store cluster_;
};

}  // namespace admission
