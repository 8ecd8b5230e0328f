#pragma once
#include <list>
#include <map>
#include <memory>
#include <string>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "runtime/build.hpp"
#include "runtime/examined_runtime.hpp"

namespace admission {

/// The maximum number of values of a runtime in reviews. The tree of such a runtime fits into the memory for
/// trees, so that it is not parsed again for each review. Stored runtimes are built up to
/// runtime::max_runtime_values.
inline constexpr std::size_t max_runtime_values = 50'000;

inline std::string too_large_text(std::size_t values) {
    return runtime::too_large_text(values, max_runtime_values);
}

/// A stored runtime: bytes, without the parts that no review reads.
struct RuntimeText {
    std::string json = {};  ///< empty if it is too large
    std::size_t values = 0;

    bool is_too_large() const { return values > max_runtime_values; }
    /// Returns its memory, with everything around it.
    std::size_t bytes() const { return json.capacity() + 2'000; }
};
using RuntimeTextPtr = std::shared_ptr<const RuntimeText>;

RuntimeTextPtr make_runtime_text(api::Json runtime);

/// The cached runtimes of one thread, of both kinds: cluster-scoped ones have a key without namespace. It may
/// lag behind the cluster, so a missing runtime may exist. All threads share the bytes; the trees of recently
/// used runtimes are the thread's own. Thread rule: one thread.
class RuntimeLister {
public:
    using Tree = std::shared_ptr<const api::Json>;
    using Examined = std::shared_ptr<const runtime::ExaminedRuntime>;

    /// The maximum number of values of all stored trees: those of some hundred usual runtimes, or of one of
    /// the maximum size.
    static constexpr std::size_t most_kept_values = max_runtime_values;

    RuntimeLister() : RuntimeLister(runtime::default_pipeline()) {}
    /// Uses the pipeline of the reviews, which must outlive the lister.
    explicit RuntimeLister(const runtime::Pipeline& pipeline) : pipeline_(pipeline) {}
    RuntimeLister(const RuntimeLister&) = delete;
    RuntimeLister& operator=(const RuntimeLister&) = delete;

    /// Returns null if it is not in the cache; `invalid` if it is too large for reviews.
    api::Result<Examined> find(const api::ObjectKey& key);
    /// Returns the object alone; null and errors as from find().
    api::Result<Tree> find_tree(const api::ObjectKey& key);

    /// Returns the object, which keeps what was found of it.
    static Tree tree_of(const Examined& examined);

    /// Returns its number of values; 0 if it is not in the cache.
    std::size_t values_of(const api::ObjectKey& key) const;

    /// Returns the most similar name of a runtime in the same namespace, or of a cluster-scoped one for such
    /// a key; empty if none is similar. Of many names, the 256 next to it in alphabetical order are compared.
    std::string nearest(const api::ObjectKey& key) const;

    /// Stores a runtime; null removes it.
    void set(const api::ObjectKey& key, RuntimeTextPtr text);

private:
    struct Entry {
        RuntimeTextPtr text = {};
        Examined tree = {};
        std::list<const api::ObjectKey*>::iterator used = {};  // if there is a tree
    };
    using Entries = std::map<api::ObjectKey, Entry>;

    void drop_tree(Entry& entry);
    Examined keep(const api::ObjectKey& key, Entry& entry, Examined tree);

    const runtime::Pipeline& pipeline_;
    Entries runtimes_ = {};
    std::list<const api::ObjectKey*> recently_used_ = {};  // the most recently used one first
    std::size_t kept_values_ = 0;
};

}  // namespace admission
