#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "admission/runtime_text.hpp"
#include "kube/watch/reflector.hpp"
#include "kube/watch/store.hpp"

namespace admission {

/// Follows both kinds of runtimes and tells of every change. What the namespaced ones take is bounded, for
/// each namespace by itself as well: those that there is no room for are not here, and are read when they
/// are used. Thread rule: one thread; the texts that it hands out may be read by any.
class RuntimeInformer {
public:
    /// An empty `runtime`: it is gone, or not kept. Keys as in RuntimeLister.
    using OnRuntime = std::function<void(const api::ObjectKey& key, const RuntimeTextPtr& runtime)>;
    /// There is no room for that one.
    using OnNoRoom = std::function<void(const api::ObjectKey& key)>;

    /// Bytes of namespaced runtimes, as RuntimeText::bytes() counts.
    struct Room {
        std::size_t of_all = 16'000'000;
        std::size_t of_namespace = 2'000'000;
    };

    /// Of these namespaces, and of those that belong to none. Server and clock must outlive it.
    RuntimeInformer(
        kube::ApiServer& server, kube::Clock& clock, OnRuntime on_runtime,
        kube::Reflector::OnChange on_change, const kube::Namespaces& namespaces = {},
        OnNoRoom on_no_room = [](const api::ObjectKey&) {});

    /// The caller must run() each of them.
    const std::vector<std::unique_ptr<kube::Reflector>>& watches() const { return watches_; }
    /// One short reason for each first list that is still to come.
    std::vector<std::string> not_synced() const;
    std::size_t size() const { return namespaced_.size() + cluster_.size(); }

private:
    using Store = kube::Store<RuntimeTextPtr>;

    std::optional<RuntimeTextPtr> take_namespaced(api::Json& object);
    void account(const std::string& ns, const Store::Entry* before, const Store::Entry* after);

    const Room room_ = {};
    std::map<std::string, std::size_t> taken_ = {};  // by namespace
    std::size_t taken_by_all_ = 0;
    OnRuntime on_runtime_;
    OnNoRoom on_no_room_;
    Store namespaced_;
    Store cluster_;
    std::vector<std::unique_ptr<kube::Reflector>> watches_ = {};
};

}  // namespace admission
