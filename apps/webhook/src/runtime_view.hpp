#pragma once
#include <memory>
#include <unordered_map>

#include "api/json.hpp"
#include "api/object_key.hpp"

namespace webhook {

/// The runtimes that one thread knows of, of both kinds: cluster-scoped ones have a key without namespace. It
/// may lag behind the cluster, so that an absence means nothing. Thread rule: one thread; the trees are
/// shared.
class RuntimeView {
public:
    /// Empty if it is not here.
    std::shared_ptr<const api::Json> find(const api::ObjectKey& key) const {
        const auto at = runtimes_.find(key);
        return at == runtimes_.end() ? nullptr : at->second;
    }

    /// An empty `runtime` takes it away.
    void set(const api::ObjectKey& key, std::shared_ptr<const api::Json> runtime) {
        if (runtime)
            runtimes_[key] = std::move(runtime);
        else
            runtimes_.erase(key);
    }

private:
    std::unordered_map<api::ObjectKey, std::shared_ptr<const api::Json>> runtimes_ = {};
};

}  // namespace webhook
