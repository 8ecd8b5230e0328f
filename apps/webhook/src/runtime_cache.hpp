#pragma once
#include <array>
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

    /// Server and clock must outlive it.
    RuntimeCache(kube::ApiServer& server, kube::Clock& clock, OnRuntime on_runtime,
                 kube::Reflector::OnChange on_change);

    /// Ends by cancellation only.
    net::Task<> run();

    /// One short reason for each kind that has not had its first list.
    std::vector<std::string> not_synced() const;
    std::array<const kube::Reflector*, 2> watches() const {
        return {&namespaced_reflector_, &cluster_reflector_};
    }
    std::size_t size() const { return namespaced_.size() + cluster_.size(); }

private:
    // The tree itself: a parse for each review would cost more than the review.
    using Tree = std::shared_ptr<const api::Json>;
    using Store = kube::Store<Tree>;

    Store namespaced_;
    Store cluster_;
    kube::Reflector namespaced_reflector_;
    kube::Reflector cluster_reflector_;
};

}  // namespace webhook
