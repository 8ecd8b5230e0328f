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

RuntimeInformer::RuntimeInformer(OnRuntime on_runtime, kube::Clock& clock, net::Log& log,
                                 const kube::Namespaces& namespaces)
    : on_runtime_(std::move(on_runtime)),
      clock_(clock),
      log_(log),
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
    note_no_room(key);
    return std::nullopt;
}

// Frequent writes of runtimes must not fill the log.
void RuntimeInformer::note_no_room(const api::ObjectKey& key) {
    if (no_room_.note(clock_.now()))
        log_.warn("too many or too large runtimes in namespaces: reading this one whenever it is used",
                  {{"runtime", key}});
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
