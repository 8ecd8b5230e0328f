#include "observe.hpp"

#include "api/names.hpp"
#include "lifecycle/ttl.hpp"
#include "runtime/snapshot.hpp"

namespace reconciler {
namespace {

kube::Resource runtime_resource(const api::TrainJob& job) {
    return job.runtime_ref.kind == api::training_runtime_kind ? kube::resources::training_runtimes
                                                              : kube::resources::cluster_training_runtimes;
}

// The TTL is the live runtime's. Only when that is gone, the snapshot's counts; if it cannot be read as one,
// there is no TTL: a job that stays too long does less harm than one deleted by mistake.
kube::Async<std::optional<std::int64_t>> ttl_of(kube::ApiServer& server, const api::TrainJob& job,
                                                const api::Json* runtime) {
    if (!lifecycle::ttl_matters(job)) co_return std::nullopt;
    if (runtime) co_return lifecycle::ttl_policy(runtime, nullptr);
    const auto config_map = co_await read(server, kube::resources::config_maps, snapshot_key(job.meta.key()));
    if (!config_map) co_return config_map.error();
    if (!*config_map) co_return std::nullopt;
    const auto snapshot = runtime::read_snapshot(**config_map, job);
    co_return lifecycle::ttl_policy(nullptr, snapshot ? &*snapshot : nullptr);
}

}  // namespace

api::ObjectKey snapshot_key(const api::ObjectKey& train_job) {
    return {train_job.ns, runtime::snapshot_name(train_job.name)};
}

kube::Async<std::optional<api::Json>> read(kube::ApiServer& server, kube::Resource resource,
                                           api::ObjectKey key) {
    kube::Request request = kube::get(resource, key);
    auto object = co_await kube::fetch(server, std::move(request));
    if (object) co_return std::move(*object);
    if (object.error().code == api::Errc::not_found) co_return std::nullopt;
    co_return object.error();
}

kube::Async<View> observe_cached(kube::ApiServer& server, const Caches& caches, api::ObjectKey key) {
    View view;
    view.observed.job = caches.train_job(key);
    if (!view.observed.job) co_return view;
    const api::TrainJob& job = *view.observed.job;
    view.observed.job_set = caches.job_set(key);
    view.runtime = caches.runtime(job);
    const auto ttl = co_await ttl_of(server, job, view.runtime ? &*view.runtime : nullptr);
    if (!ttl) co_return ttl.error();
    view.observed.ttl = *ttl;
    co_return view;
}

kube::Async<View> observe_live(kube::ApiServer& server, api::ObjectKey key) {
    View view;
    view.live = true;
    const auto job = co_await read(server, kube::resources::train_jobs, key);
    if (!job) co_return job.error();
    if (!*job) co_return view;
    view.observed.job = api::parse_train_job(**job);
    const auto job_set = co_await read(server, kube::resources::job_sets, key);
    if (!job_set) co_return job_set.error();
    if (*job_set) view.observed.job_set = api::parse_job_set(**job_set);
    if (api::is_supported(view.observed.job->runtime_ref)) {
        auto runtime =
            co_await read(server, runtime_resource(*view.observed.job), runtime_key(*view.observed.job));
        if (!runtime) co_return runtime.error();
        view.runtime = std::move(*runtime);
    }
    const auto ttl = co_await ttl_of(server, *view.observed.job, view.runtime ? &*view.runtime : nullptr);
    if (!ttl) co_return ttl.error();
    view.observed.ttl = *ttl;
    co_return view;
}

}  // namespace reconciler
