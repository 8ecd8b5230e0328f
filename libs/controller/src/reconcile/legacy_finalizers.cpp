#include "controller/reconcile/legacy_finalizers.hpp"

#include "api/meta.hpp"
#include "api/names.hpp"

namespace controller {
namespace {

using api::Json;

// The cache has few runtimes, so a look at them costs almost nothing.
constexpr std::chrono::seconds poll_interval{10};

std::vector<api::ObjectKey> held(const kube::Store<Cache::RuntimeIndex>& runtimes) {
    std::vector<api::ObjectKey> keys;
    runtimes.for_each([&](const api::ObjectKey& key, const auto& entry) {
        if (entry.index.has_legacy_finalizer) keys.push_back(key);
    });
    return keys;
}

// Removes the finalizer from the runtime as it is read now, so the finalizers of others stay.
kube::Async<> release(kube::ApiServer& server, kube::Resource resource, api::ObjectKey key) {
    kube::Request look = kube::get(resource, key);
    const auto runtime = co_await kube::fetch(server, std::move(look));
    if (!runtime) co_return runtime.error();
    const auto& there = (*runtime)["metadata"]["finalizers"].items();
    Json others = Json::array();
    for (const Json& finalizer : there)
        if (finalizer.as_string() != api::legacy_runtime_finalizer) others.push_back(finalizer);
    if (others.items().size() == there.size()) co_return api::Result<>();
    const kube::SameVersion as_seen(api::parse_meta(*runtime));
    Json patch;
    patch["metadata"]["finalizers"] = std::move(others);
    kube::Request request = kube::merge_patch(resource, key, std::move(patch), as_seen);
    const auto patched = co_await server.send(std::move(request));
    if (!patched) co_return patched.error();
    co_return api::Result<>();
}

// Returns whether to log the error. A runtime that is gone or has changed, and a server that does not answer,
// are left to the next look.
bool is_worth_telling(const api::Error& error) {
    return error.code == api::Errc::forbidden || error.code == api::Errc::invalid;
}

}  // namespace

net::Task<> release_runtimes(kube::ApiServer& server, Cache& cache, kube::Clock& clock, net::Log& log,
                             std::function<bool()> allowed) {
    bool logged = false;
    for (;;) {
        // A controller that is limited to some namespaces only reads what all of them share.
        std::vector<api::ObjectKey> shared;
        if (!cache.namespaces().is_limited()) shared = held(cache.cluster_training_runtimes());
        const std::pair<kube::Resource, std::vector<api::ObjectKey>> kinds[] = {
            {kube::resources::cluster_training_runtimes, std::move(shared)},
            {kube::resources::training_runtimes, held(cache.training_runtimes())}};
        for (const auto& [resource, keys] : kinds)
            for (const api::ObjectKey& key : keys) {
                if (!allowed()) break;
                const auto released = co_await release(server, resource, key);
                if (released || logged || !is_worth_telling(released.error())) continue;
                logged = true;
                log.warn(
                    "cannot take the finalizer of older controllers off runtimes; trying again",
                    {{"resource", kube::to_string(resource)}, {"runtime", key}, {"error", released.error()}});
            }
        co_await clock.sleep_until(clock.now() + poll_interval);
    }
}

}  // namespace controller
