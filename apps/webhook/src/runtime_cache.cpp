#include "runtime_cache.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

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
                           kube::Reflector::OnChange on_change)
    : namespaced_(take_tree, [on_runtime](const api::ObjectKey& key, auto*,
                                          auto* after) { on_runtime(key, after ? after->facts : Tree()); }),
      cluster_(take_tree, [on_runtime](const api::ObjectKey& key, auto*,
                                       auto* after) { on_runtime(key, after ? after->facts : Tree()); }),
      namespaced_reflector_(server, clock, namespaced_, {.resource = kube::resources::training_runtimes},
                            on_change),
      cluster_reflector_(server, clock, cluster_, {.resource = kube::resources::cluster_training_runtimes},
                         on_change) {}

net::Task<> RuntimeCache::run() {
    using namespace boost::asio::experimental::awaitable_operators;
    co_await (namespaced_reflector_.run() && cluster_reflector_.run());
}

std::vector<std::string> RuntimeCache::not_synced() const {
    std::vector<std::string> reasons;
    for (const kube::Reflector* reflector : watches())
        if (!reflector->synced())
            reasons.push_back("no list yet of " + to_string(reflector->scope().resource));
    return reasons;
}

}  // namespace webhook
