#include "runtime_cache.hpp"

namespace webhook {
namespace {

using Tree = std::shared_ptr<const api::Json>;

// Null keeps no bytes: the tree is all that is wanted.
std::optional<Tree> take_tree(api::Json& object) {
    auto tree = std::make_shared<const api::Json>(std::move(object));
    object = api::Json();
    return tree;
}

}  // namespace

RuntimeCache::RuntimeCache(kube::ApiServer& server, kube::Clock& clock, OnRuntime on_runtime,
                           kube::Reflector::OnChange on_change, const kube::Namespaces& namespaces)
    : namespaced_(
          take_tree,
          [on_runtime](const api::ObjectKey& key, auto*, auto* after) {
              on_runtime(key, after ? after->facts : Tree());
          },
          namespaces),
      cluster_(take_tree, [on_runtime](const api::ObjectKey& key, auto*, auto* after) {
          on_runtime(key, after ? after->facts : Tree());
      }) {
    const auto watch = [&](const kube::Resource& resource, Store& store) {
        for (const kube::Section& section : store.sections())
            watches_.push_back(std::make_unique<kube::Reflector>(
                server, clock, section.sink, kube::Scope{.resource = resource, .ns = section.ns}, on_change));
    };
    watch(kube::resources::training_runtimes, namespaced_);
    watch(kube::resources::cluster_training_runtimes, cluster_);
}

std::vector<std::string> RuntimeCache::not_synced() const {
    std::vector<const kube::Reflector*> watches;
    for (const auto& watch : watches_) watches.push_back(watch.get());
    return kube::lists_to_come(watches);
}

}  // namespace webhook
