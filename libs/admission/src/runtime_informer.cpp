#include "admission/runtime_informer.hpp"

namespace admission {
namespace {

// Null keeps no bytes of the object: the text is all that is wanted.
RuntimeTextPtr take_text(api::Json& object) {
    RuntimeTextPtr text = make_runtime_text(std::move(object));
    object = api::Json();
    return text;
}

}  // namespace

RuntimeInformer::RuntimeInformer(kube::ApiServer& server, kube::Clock& clock, OnRuntime on_runtime,
                                 kube::Reflector::OnChange on_change, const kube::Namespaces& namespaces,
                                 OnNoRoom on_no_room)
    : on_runtime_(std::move(on_runtime)),
      on_no_room_(std::move(on_no_room)),
      namespaced_([this](api::Json& object) { return take_namespaced(object); },
                  [this](const api::ObjectKey& key, const Store::Entry* before, const Store::Entry* after) {
                      account(key.ns, before, after);
                      on_runtime_(key, after ? after->index : nullptr);
                  },
                  namespaces),
      cluster_([](api::Json& object) { return std::optional(take_text(object)); },
               [this](const api::ObjectKey& key, const Store::Entry*, const Store::Entry* after) {
                   on_runtime_(key, after ? after->index : nullptr);
               }) {
    const auto watch = [&](const kube::Resource& resource, Store& store) {
        for (const kube::Section& section : store.sections())
            watches_.push_back(std::make_unique<kube::Reflector>(
                server, clock, section.sink, kube::Scope{.resource = resource, .ns = section.ns}, on_change));
    };
    watch(kube::resources::training_runtimes, namespaced_);
    watch(kube::resources::cluster_training_runtimes, cluster_);
}

std::optional<RuntimeTextPtr> RuntimeInformer::take_namespaced(api::Json& object) {
    const api::Json& metadata = std::as_const(object)["metadata"];
    const api::ObjectKey key = {std::string(metadata["namespace"].as_string()),
                                std::string(metadata["name"].as_string())};
    RuntimeTextPtr text = take_text(object);
    const Store::Entry* former = namespaced_.find(key);
    const std::size_t released = former ? former->index->bytes() : 0;
    const auto at = taken_.find(key.ns);
    const std::size_t of_namespace = at == taken_.end() ? 0 : at->second;
    if (taken_by_all_ - released + text->bytes() <= room_.of_all &&
        of_namespace - released + text->bytes() <= room_.of_namespace)
        return text;
    on_no_room_(key);
    return std::nullopt;
}

void RuntimeInformer::account(const std::string& ns, const Store::Entry* before, const Store::Entry* after) {
    const std::size_t more = after ? after->index->bytes() : 0;
    const std::size_t less = before ? before->index->bytes() : 0;
    taken_by_all_ += more - less;
    std::size_t& taken = taken_[ns];
    taken += more - less;
    if (taken == 0) taken_.erase(ns);
}

std::vector<std::string> RuntimeInformer::not_synced() const {
    std::vector<const kube::Reflector*> watches;
    for (const auto& watch : watches_) watches.push_back(watch.get());
    return kube::unsynced(watches);
}

}  // namespace admission
