#include "reconcile/runtime_snapshot.hpp"

#include "api/run_policy.hpp"
#include "cache/owner.hpp"
#include "lifecycle/observed.hpp"
#include "runtime/snapshot.hpp"

namespace controller {
namespace {

using lifecycle::SnapshotPlan;
using lifecycle::SnapshotState;

std::string described(const api::ObjectKey& key) { return "ConfigMap " + to_string(key); }

SnapshotState state_of(const std::optional<api::Json>& config_map, const api::Result<api::Json>& snapshot,
                       const View& view) {
    const api::TrainJob& job = *view.observed.job;
    if (!config_map) return SnapshotState::absent;
    if (api::parse_meta(*config_map).controller_uid != job.meta.uid) return SnapshotState::foreign;
    if (!snapshot) return SnapshotState::broken;
    const bool same =
        view.runtime && (*config_map)["data"] == runtime::make_snapshot(job, *view.runtime)["data"];
    return same ? SnapshotState::same : SnapshotState::differs;
}

// Returns whether the job began under another controller, which knew nothing of run policies.
bool is_taken_over(const View& view) {
    const api::JobSet* job_set = lifecycle::own_job_set(view.observed);
    return job_set && !job_set->applied_here;
}

std::shared_ptr<const api::Json> without_run_policy(const View& view) {
    return std::make_shared<const api::Json>(api::without_run_policy(*view.runtime));
}

api::Error no_runtime(const api::TrainJob& job) {
    return api::invalid("spec.runtimeRef", job.runtime_ref.kind + " \"" + job.runtime_ref.name +
                                               "\" does not exist; create it, and this TrainJob goes on");
}

// The runtime may have changed since: a build from it would differ from what the job has run as.
api::Error no_snapshot(const api::ObjectKey& key) {
    return api::invalid("spec.runtimeRef",
                        described(key) +
                            ", the runtime as this TrainJob began with it, is gone; delete "
                            "the TrainJob and create it again");
}

api::Error meanwhile(std::string what) {
    return {.code = api::Errc::conflict, .message = std::move(what), .http_status = 409};
}

// Checks that a differing snapshot may be replaced. It may be newer than the runtime that was read, and made
// by another reconciler since: the runtime must not have changed since that read. That reconciler may also
// have created a JobSet from the snapshot: there must be none.
kube::Task<StepFailure> see_that_it_may_go(kube::ApiServer& server, const View& view) {
    const api::TrainJob& job = *view.observed.job;
    const api::ObjectKey key = runtime_key(job);
    const std::string name = job.runtime_ref.kind + " " + to_string(key);
    const auto now = co_await read(server, runtime_resource(job), key, managed_fields);
    if (!now) co_return lifecycle::ReadFailed{name, now.error()};
    if (!*now || api::parse_meta(**now).resource_version != api::parse_meta(*view.runtime).resource_version)
        co_return lifecycle::ReadFailed{name, meanwhile("it was changed meanwhile")};
    const std::string job_set_name = "JobSet " + to_string(job.meta.key());
    const auto job_set = co_await read(server, kube::resources::job_sets, job.meta.key());
    if (!job_set) co_return lifecycle::ReadFailed{job_set_name, job_set.error()};
    if (*job_set) co_return lifecycle::ReadFailed{job_set_name, meanwhile("it was created meanwhile")};
    co_return lifecycle::Done();
}

// Chooses the runtime by the stored snapshot.
kube::Task<std::variant<ChosenRuntime, StepFailure>> look_and_choose(kube::ApiServer& server,
                                                                     const View& view,
                                                                     lifecycle::RuntimeSource source) {
    const api::TrainJob& job = *view.observed.job;
    const api::ObjectKey key = snapshot_key(job.meta.key());
    auto config_map = co_await read(server, kube::resources::config_maps, key);
    if (!config_map) co_return StepFailure(lifecycle::ReadFailed{described(key), config_map.error()});

    auto snapshot =
        *config_map ? runtime::read_snapshot(**config_map, job) : api::Result<api::Json>(no_runtime(job));
    ChosenRuntime chosen;
    if (*config_map) chosen.snapshot_uid = api::parse_meta(**config_map).uid;
    const SnapshotState state = state_of(*config_map, snapshot, view);
    chosen.plan = lifecycle::plan_snapshot(source, view.runtime != nullptr, state);
    // An unread runtime is a failure only if the plan depends on it.
    if (view.runtime_unread && chosen.plan != lifecycle::plan_snapshot(source, true, state))
        co_return StepFailure(*view.runtime_unread);
    switch (chosen.plan.build_from) {
        case SnapshotPlan::BuildFrom::live:
            chosen.runtime = is_taken_over(view) ? without_run_policy(view) : view.runtime;
            break;
        case SnapshotPlan::BuildFrom::snapshot:
            chosen.runtime = std::make_shared<const api::Json>(std::move(*snapshot));
            break;
        case SnapshotPlan::BuildFrom::nothing:
            if (state == SnapshotState::foreign) {
                lifecycle::ForeignObject foreign = {described(key), is_leftover(**config_map, job)};
                co_return StepFailure(std::move(foreign));
            }
            if (state == SnapshotState::absent && source == lifecycle::RuntimeSource::snapshot)
                co_return StepFailure(lifecycle::BuildFailed{no_snapshot(key)});
            co_return StepFailure(lifecycle::BuildFailed{snapshot ? no_runtime(job) : snapshot.error()});
    }
    co_return chosen;
}

kube::Task<StepFailure> create_snapshot(kube::ApiServer& server, const api::TrainJob& job,
                                        const api::Json& runtime) {
    const api::Json wanted = runtime::make_snapshot(job, runtime);
    kube::Request creation = kube::create(kube::resources::config_maps, wanted);
    const auto created = co_await server.send(std::move(creation));
    if (!created) co_return lifecycle::WriteFailed{described(snapshot_key(job.meta.key())), created.error()};
    co_return lifecycle::Done();
}

}  // namespace

kube::Task<std::variant<ChosenRuntime, StepFailure>> choose_runtime(kube::ApiServer& server, const View& view,
                                                                    lifecycle::RuntimeSource source) {
    // Most jobs are new and have no snapshot, so an attempt to create it shows as much as a read. If it
    // exists, another reconcile has come as far before, perhaps as far as a JobSet.
    if (source == lifecycle::RuntimeSource::live && view.runtime &&
        view.live == lifecycle::Live::job_and_runtime)
        co_return ChosenRuntime{.runtime = view.runtime,
                                .plan = {SnapshotPlan::BuildFrom::live, SnapshotPlan::Store::create}};
    co_return co_await look_and_choose(server, view, source);
}

kube::Task<StepFailure> store_snapshot(kube::ApiServer& server, const View& view,
                                       const ChosenRuntime& chosen) {
    const api::TrainJob& job = *view.observed.job;
    if (chosen.plan.store == SnapshotPlan::Store::replace) {
        if (auto may_go = co_await see_that_it_may_go(server, view);
            !std::holds_alternative<lifecycle::Done>(may_go))
            co_return may_go;
        // The ConfigMap is immutable, so it is deleted and created. The UID protects a new ConfigMap of that
        // name.
        const kube::Preconditions this_one = {.uid = chosen.snapshot_uid};
        const api::ObjectKey key = snapshot_key(job.meta.key());
        kube::Request removal =
            kube::remove(kube::resources::config_maps, key, kube::Propagation::background, this_one);
        const auto removed = co_await server.send(std::move(removal));
        if (!removed && removed.error().code != api::Errc::not_found)
            co_return lifecycle::WriteFailed{described(key), removed.error(), lifecycle::Write::remove};
    }
    if (chosen.plan.store == SnapshotPlan::Store::keep) co_return lifecycle::Done();
    co_return co_await create_snapshot(server, job, *chosen.runtime);
}

}  // namespace controller
