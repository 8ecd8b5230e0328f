#include "reconcile/runtime_snapshot.hpp"

#include "api/run_policy.hpp"
#include "cache/owner.hpp"
#include "lifecycle/observed.hpp"
#include "net/process/turns.hpp"
#include "reconcile/changed_meanwhile.hpp"
#include "runtime/snapshot.hpp"

namespace controller {
namespace {

using lifecycle::SnapshotPlan;
using lifecycle::SnapshotState;

std::string described(const api::ObjectKey& key) { return "ConfigMap " + to_string(key); }

// Returns whether the plan would be another one if the live runtime, which could not be read, were known.
bool depends_on_live(lifecycle::RuntimeSource source, const lifecycle::Beginning& began,
                     const SnapshotView& seen) {
    for (const std::string& possible : {began.digest, seen.found.snapshot_digest, std::string("other")}) {
        lifecycle::Runtimes found = seen.found;
        found.live_digest = possible;
        if (lifecycle::plan_snapshot(source, began, found) != seen.plan) return true;
    }
    return false;
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

// A build from another runtime would differ from what the job has run as, and a tenant could choose it.
api::Error lost_beginning(const View& view, const SnapshotView& seen) {
    const api::TrainJob& job = *view.observed.job;
    const std::string map = described(snapshot_key(job.meta.key()));
    std::string text;
    switch (seen.found.snapshot) {
        case SnapshotState::absent:
            text = map + ", the runtime as this TrainJob began with it, is gone";
            break;
        case SnapshotState::readable:
            text = map + " does not hold the runtime that this TrainJob began with";
            break;
        case SnapshotState::broken:
        case SnapshotState::foreign: text = seen.runtime.error().message; break;
    }
    const bool can_return = !lifecycle::began_with(view.observed).digest.empty();
    if (can_return)
        text += ", and " + job.runtime_ref.kind + " \"" + job.runtime_ref.name +
                (view.runtime ? "\" has changed since; undo that" : "\" is gone; create it as it was then") +
                ", or";
    return api::invalid("spec.runtimeRef",
                        text + (can_return ? "" : ";") + " delete the TrainJob and create it again");
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
        co_return lifecycle::ReadFailed{name, changed_meanwhile("it was changed meanwhile")};
    const std::string job_set_name = "JobSet " + to_string(job.meta.key());
    const auto job_set = co_await read(server, kube::resources::job_sets, job.meta.key());
    if (!job_set) co_return lifecycle::ReadFailed{job_set_name, job_set.error()};
    if (*job_set)
        co_return lifecycle::ReadFailed{job_set_name, changed_meanwhile("it was created meanwhile")};
    co_return lifecycle::Done();
}

// Chooses the runtime by the stored snapshot.
kube::Task<std::variant<ChosenRuntime, StepFailure>> look_and_choose(kube::ApiServer& server,
                                                                     const View& view,
                                                                     lifecycle::RuntimeSource source) {
    auto looked = co_await look_at_snapshot(server, view, source);
    if (auto* unread = std::get_if<lifecycle::ReadFailed>(&looked)) co_return StepFailure(std::move(*unread));
    auto& seen = std::get<SnapshotView>(looked);
    const api::TrainJob& job = *view.observed.job;
    ChosenRuntime chosen = {.plan = seen.plan, .snapshot_uid = std::move(seen.uid)};
    switch (chosen.plan.build_from) {
        case SnapshotPlan::BuildFrom::live:
            chosen.runtime = is_taken_over(view) ? without_run_policy(view) : view.runtime;
            chosen.digest = runtime_digest(*chosen.runtime);
            break;
        case SnapshotPlan::BuildFrom::snapshot:
            chosen.runtime = std::make_shared<const api::Json>(std::move(*seen.runtime));
            chosen.digest = std::move(seen.found.snapshot_digest);
            break;
        case SnapshotPlan::BuildFrom::nothing:
            if (seen.found.snapshot == SnapshotState::foreign) {
                lifecycle::ForeignObject foreign = {described(snapshot_key(job.meta.key())),
                                                    seen.is_leftover};
                co_return StepFailure(std::move(foreign));
            }
            if (source == lifecycle::RuntimeSource::live)
                co_return StepFailure(lifecycle::BuildFailed{no_runtime(job)});
            co_return StepFailure(lifecycle::BuildFailed{lost_beginning(view, seen)});
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

kube::Task<std::variant<SnapshotView, lifecycle::ReadFailed>> look_at_snapshot(
    kube::ApiServer& server, const View& view, lifecycle::RuntimeSource source) {
    const api::TrainJob& job = *view.observed.job;
    const api::ObjectKey key = snapshot_key(job.meta.key());
    const auto config_map = co_await read(server, kube::resources::config_maps, key);
    if (!config_map) co_return lifecycle::ReadFailed{described(key), config_map.error()};
    SnapshotView seen;
    if (*config_map) {
        seen.uid = api::parse_meta(**config_map).uid;
        seen.runtime = runtime::read_snapshot(**config_map, job);
        const bool is_foreign = api::parse_meta(**config_map).controller_uid != job.meta.uid;
        seen.is_leftover = is_foreign && is_leftover(**config_map, job);
        seen.found.snapshot = is_foreign     ? SnapshotState::foreign
                              : seen.runtime ? SnapshotState::readable
                                             : SnapshotState::broken;
    }
    // Each digest takes a few milliseconds for a runtime of a megabyte.
    co_await net::next_turn();
    if (seen.found.snapshot == SnapshotState::readable)
        seen.found.snapshot_digest = runtime_digest(*seen.runtime);
    if (view.runtime) seen.found.live_digest = runtime_digest(*view.runtime);
    const lifecycle::Beginning began = lifecycle::began_with(view.observed);
    seen.plan = lifecycle::plan_snapshot(source, began, seen.found);
    if (view.runtime_unread && depends_on_live(source, began, seen)) co_return *view.runtime_unread;
    co_return seen;
}

kube::Task<std::variant<ChosenRuntime, StepFailure>> choose_runtime(kube::ApiServer& server, const View& view,
                                                                    lifecycle::RuntimeSource source) {
    // Most jobs are new and have no snapshot, so an attempt to create it shows as much as a read. If it
    // exists, another reconcile has come as far before, perhaps as far as a JobSet.
    if (source == lifecycle::RuntimeSource::live && view.runtime &&
        view.live == lifecycle::Live::job_and_runtime)
        co_return ChosenRuntime{.runtime = view.runtime,
                                .digest = runtime_digest(*view.runtime),
                                .plan = {SnapshotPlan::BuildFrom::live, SnapshotPlan::Store::create}};
    co_return co_await look_and_choose(server, view, source);
}

kube::Task<StepFailure> store_snapshot(kube::ApiServer& server, const View& view,
                                       const ChosenRuntime& chosen) {
    using enum SnapshotPlan::Store;
    const api::TrainJob& job = *view.observed.job;
    if (chosen.plan.store == keep) co_return lifecycle::Done();
    if (chosen.plan.store == replace) {
        if (auto may_go = co_await see_that_it_may_go(server, view);
            !std::holds_alternative<lifecycle::Done>(may_go))
            co_return may_go;
    }
    if (chosen.plan.store != create) {
        // The ConfigMap is immutable, so it is deleted and created. The UID protects a new ConfigMap of that
        // name.
        const kube::SameObject this_one(chosen.snapshot_uid);
        const api::ObjectKey key = snapshot_key(job.meta.key());
        kube::Request removal =
            kube::remove(kube::resources::config_maps, key, kube::Propagation::background, this_one);
        const auto removed = co_await server.send(std::move(removal));
        if (!removed && removed.error().code != api::Errc::not_found)
            co_return lifecycle::WriteFailed{described(key), removed.error(), lifecycle::Write::remove};
    }
    co_return co_await create_snapshot(server, job, *chosen.runtime);
}

}  // namespace controller
