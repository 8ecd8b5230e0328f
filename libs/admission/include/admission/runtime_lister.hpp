#pragma once
#include <list>
#include <map>
#include <memory>
#include <string>

#include "admission/runtime_text.hpp"
#include "api/json.hpp"
#include "api/object_key.hpp"

namespace admission {

/// The runtimes that one thread knows of, of both kinds: cluster-scoped ones have a key without namespace. It
/// may lag behind the cluster, so that an absence means nothing. Bytes are shared by all threads; the trees
/// of those that were used of late are the thread's own. Thread rule: one thread.
class RuntimeLister {
public:
    using Tree = std::shared_ptr<const api::Json>;

    /// How many values the trees that are kept hold together: those of some hundred usual runtimes, or of one
    /// that is as large as it may be.
    static constexpr std::size_t most_kept_values = max_runtime_values;

    RuntimeLister() = default;
    RuntimeLister(const RuntimeLister&) = delete;
    RuntimeLister& operator=(const RuntimeLister&) = delete;

    /// Null if it is not here; `invalid` if it is too large to be judged by.
    api::Result<Tree> find(const api::ObjectKey& key);

    /// How many values it has; 0 if it is not here.
    std::size_t values_of(const api::ObjectKey& key) const;

    /// The name of a runtime of the same namespace, or a cluster-scoped one if the key is, that is nearest to
    /// the key's; empty if none is near. Of many, the 256 around it in alphabetical order are compared.
    std::string nearest(const api::ObjectKey& key) const;

    /// Null takes it away.
    void set(const api::ObjectKey& key, RuntimeTextPtr text);

private:
    struct Entry {
        RuntimeTextPtr text = {};
        Tree tree = {};
        std::list<const api::ObjectKey*>::iterator used = {};  // if there is a tree
    };
    using Entries = std::map<api::ObjectKey, Entry>;

    void drop_tree(Entry& entry);
    Tree keep(const api::ObjectKey& key, Entry& entry, Tree tree);

    Entries runtimes_ = {};
    std::list<const api::ObjectKey*> recently_used_ = {};  // the latest first
    std::size_t kept_values_ = 0;
};

}  // namespace admission
