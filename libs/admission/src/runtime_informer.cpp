#include "admission/runtime_informer.hpp"

namespace admission {
namespace {

// Sets `object` to null, so that the store keeps the text alone.
RuntimeTextPtr take_text(api::Json& object) {
    RuntimeTextPtr text = make_runtime_text(std::move(object));
    object = api::Json();
    return text;
}

}  // namespace

RuntimeInformer::RuntimeInformer(OnRuntime on_runtime, const kube::Namespaces& namespaces,
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
               }) {}

std::vector<RuntimeInformer::Collection> RuntimeInformer::collections() {
    std::vector<Collection> all;
    const auto add = [&](const kube::Resource& resource, Store& store) {
        for (const kube::Partition& partition : store.partitions())
            all.push_back({{.resource = resource, .ns = partition.ns}, partition.sink});
    };
    add(kube::resources::training_runtimes, namespaced_);
    add(kube::resources::cluster_training_runtimes, cluster_);
    return all;
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
    if (taken_by_all_ - released + text->bytes() <= bounds_.of_all &&
        of_namespace - released + text->bytes() <= bounds_.of_namespace)
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

}  // namespace admission
