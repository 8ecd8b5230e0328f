#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kube/reflector.hpp"
#include "kube/store.hpp"

namespace webhook {

/// Follows both kinds of runtimes and tells of every change. Thread rule: one thread; the trees that it hands
/// out may be read by any.
class RuntimeCache {
public:
    /// An empty `runtime`: it is gone. Keys as in RuntimeView.
    using OnRuntime =
        std::function<void(const api::ObjectKey& key, const std::shared_ptr<const api::Json>& runtime)>;

    /// Of these namespaces, and of those that belong to none. Server and clock must outlive it.
    RuntimeCache(kube::ApiServer& server, kube::Clock& clock, OnRuntime on_runtime,
                 kube::Reflector::OnChange on_change, const kube::Namespaces& namespaces = {});

    /// Somebody must run() each of them.
    const std::vector<std::unique_ptr<kube::Reflector>>& watches() const { return watches_; }
    /// One short reason for each first list that is still to come.
    std::vector<std::string> not_synced() const;
    std::size_t size() const { return namespaced_.size() + cluster_.size(); }

private:
    // The tree itself: a parse for each review would cost more than the review.
    using Tree = std::shared_ptr<const api::Json>;
    using Store = kube::Store<Tree>;

    Store namespaced_;
    Store cluster_;
    std::vector<std::unique_ptr<kube::Reflector>> watches_ = {};
};

}  // namespace webhook
