// Recreates a JobSet, after checks of what that loses and whether the API server would accept the new one.
#include "api/names.hpp"
#include "kube/client/api_server.hpp"
#include "kube/client/request.hpp"
#include "lifecycle/recreate.hpp"
#include "lifecycle/refusal.hpp"
#include "reconcile/job_set_writer.hpp"
#include "runtime/applied_hash.hpp"

namespace controller {
namespace {

using api::Json;
using lifecycle::Done;
using lifecycle::Outcome;
using lifecycle::WriteFailed;

Outcome kept_for(lifecycle::Recreation verdict) {
    return kept_job_set("a new one would " + std::string(lifecycle::loss(verdict)), true);
}

api::Error invalid(std::string what) {
    return {.code = api::Errc::invalid, .message = std::move(what), .http_status = 422};
}

// Returns another name of the same length, so that a name that is too long is refused. Mostly no object has
// it.
std::string name_like(std::string name) {
    if (!name.empty()) name.back() = name.back() == 'x' ? 'y' : 'x';
    return name;
}

// Returns whether the error of a dry run is no verdict. A name that is taken is checked last, so everything
// else was accepted.
bool is_no_verdict(const api::Error& error) {
    return error.reason == "AlreadyExists" || cannot_be_tried(error);
}

}  // namespace

// Reads JobSet and TrainJob again. The TrainJob was read before its JobSet, and another reconciler may have
// built a changed TrainJob in between. If it has not changed since, it was the same when the JobSet was read.
kube::Task<Outcome> JobSetWriter::read_again(std::shared_ptr<const Json>& job_set) {
    auto seen = co_await whole_job_set();
    if (!seen) co_return unread(seen.error());
    if (!*seen || api::parse_meta(**seen).resource_version != view_.observed.job_set->meta.resource_version)
        co_return failed(changed_meanwhile("it has changed; reconciling again"));
    const auto owner = co_await read(server_, kube::resources::train_jobs, key(), managed_fields);
    if (!owner) co_return ended(lifecycle::ReadFailed{"TrainJob " + to_string(key()), owner.error()});
    if (!*owner || api::parse_meta(**owner).resource_version != job().meta.resource_version)
        co_return failed(changed_meanwhile("its TrainJob has changed; reconciling again"));
    job_set = std::move(*seen);
    co_return Outcome();
}

kube::Task<Outcome> JobSetWriter::remove_if_outdated() {
    std::shared_ptr<const Json> seen;
    if (auto looked = co_await read_again(seen); !std::holds_alternative<Done>(looked.result))
        co_return looked;
    const Json& live = *seen;
    if (!runtime::is_built_from_other(live, note_.source)) co_return Outcome();
    const lifecycle::Recreation verdict = lifecycle::recreation(lifecycle::refused_change(live));
    if (lifecycle::loses_something(verdict)) co_return kept_for(verdict);
    const api::Error outdated = invalid("it was created from what has been corrected since");
    co_return co_await remove(live, outdated);
}

kube::Task<Outcome> JobSetWriter::make_way(const runtime::Built& built) {
    std::shared_ptr<const Json> seen;
    if (auto looked = co_await read_again(seen); !std::holds_alternative<Done>(looked.result))
        co_return looked;
    const lifecycle::Recreation verdict = lifecycle::recreation(lifecycle::refused_change(*seen));
    if (lifecycle::loses_something(verdict)) co_return kept_for(verdict);
    const api::Error resized = invalid("spec.trainer.numNodes has changed");
    Json counted;
    Outcome planned = co_await plan_recreation(built, *seen, resized, counted);
    // An error that is no verdict, such as a timeout of a webhook, is no reason against a running job either.
    if (const auto* failure = std::get_if<WriteFailed>(&planned.result)) {
        // The API server gets the pause that it asks for, which is a failure's.
        if (failure->error.retry_after) co_return planned;
        co_return kept_job_set(api::describe(failure->error), false);
    }
    if (!std::holds_alternative<Done>(planned.result)) co_return planned;
    co_return co_await suspend_job_set(server_, view_, written_);
}

// Recreates the JobSet if that is possible and loses nothing.
kube::Task<Outcome> JobSetWriter::begin_anew(const runtime::Built& built, const Json& live,
                                             api::Error refusal) {
    const lifecycle::Recreation verdict = lifecycle::recreation(lifecycle::refused_change(live));
    switch (verdict) {
        case lifecycle::Recreation::wait: co_return ended(lifecycle::Waiting{api::describe(refusal)});
        case lifecycle::Recreation::recreate: break;
        case lifecycle::Recreation::loses_claims:
        case lifecycle::Recreation::loses_work: co_return failed(lifecycle::cannot_take(verdict, refusal));
    }
    if (view_.live == lifecycle::Live::all) co_return co_await recreate(built, live, refusal);
    wants_live_view_ = true;
    co_return Outcome();
}

kube::Task<Outcome> JobSetWriter::recreate(const runtime::Built& built, const Json& live,
                                           const api::Error& refusal) {
    Json counted;
    Outcome planned = co_await plan_recreation(built, live, refusal, counted);
    if (!std::holds_alternative<Done>(planned.result)) co_return planned;
    if (!counted.is_null()) {
        kube::Request count = kube::replace(kube::resources::config_maps, counted);
        const auto noted = co_await server_.send(std::move(count));
        if (!noted)
            co_return ended(WriteFailed{"ConfigMap " + to_string(snapshot_key(key())), noted.error()});
    }
    co_return co_await remove(live, refusal);
}

// Checks whether the JobSet may be recreated once more, and whether the new one would be accepted. `counted`:
// the snapshot with the note of recreations, which outlives the JobSet and this process; null if the note is
// stored already.
kube::Task<Outcome> JobSetWriter::plan_recreation(const runtime::Built& built, const Json& live,
                                                  const api::Error& refusal, Json& counted) {
    const api::ObjectKey snapshot = snapshot_key(key());
    const std::string map_name = "ConfigMap " + to_string(snapshot);
    const auto map = co_await read(server_, kube::resources::config_maps, snapshot, managed_fields);
    if (!map) co_return ended(lifecycle::ReadFailed{map_name, map.error()});
    if (!*map) co_return ended(WriteFailed{map_name, changed_meanwhile("it is gone; reconciling again")});
    const std::int64_t generation = job().meta.generation;
    const api::ObjectMeta seen = api::parse_meta(live);
    if (lifecycle::recreations(**map, generation, seen.uid) >= lifecycle::max_recreations)
        co_return failed(lifecycle::too_many_recreations(refusal));
    const auto tried = co_await try_to_create(built);
    if (!tried) co_return failed(tried.error());
    if (Json noted = lifecycle::with_recreation(**map, generation, seen.uid); noted != **map)
        counted = std::move(noted);
    co_return Outcome();
}

// Deletes the JobSet if it is still as it was read: it may have been resumed or have finished since.
kube::Task<Outcome> JobSetWriter::remove(const Json& live, const api::Error& why) {
    const api::ObjectMeta seen = api::parse_meta(live);
    const kube::Preconditions as_seen = {.uid = seen.uid, .resource_version = seen.resource_version};
    kube::Request removal =
        kube::remove(kube::resources::job_sets, key(), kube::Propagation::foreground, as_seen);
    const auto removed = co_await server_.send(std::move(removal));
    if (!removed && removed.error().code != api::Errc::not_found)
        co_return ended(WriteFailed{"JobSet " + to_string(key()), removed.error(), lifecycle::Write::remove});
    co_return ended(lifecycle::JobSetRemoved{api::describe(why)});
}

// Checks by a dry run whether the new JobSet would be accepted once this one is gone: length of names,
// quotas, policies.
kube::Async<> JobSetWriter::try_to_create(const runtime::Built& built) {
    Json wanted = noted(built);
    // With the same name, the claims of the present JobSet would be in the way.
    wanted["metadata"]["name"] = name_like(key().name);
    kube::Request attempt = kube::create(kube::resources::job_sets, wanted);
    attempt = kube::without_object(kube::dry_run(std::move(attempt)));
    const auto tried = co_await server_.send(std::move(attempt));
    if (tried || is_no_verdict(tried.error()) || lifecycle::deletion_makes_room(tried.error()))
        co_return api::Result<>();
    api::Error error = tried.error();
    error.message = "the change needs a new JobSet, which would be refused: " + error.message;
    co_return error;
}

kube::Task<Outcome> suspend_job_set(kube::ApiServer& server, const View& view, WrittenVersions& written) {
    const api::JobSet& seen = *view.observed.job_set;
    const api::ObjectMeta& meta = seen.meta;
    const kube::Preconditions as_seen = {.uid = meta.uid, .resource_version = meta.resource_version};
    Json patch;
    patch["spec"]["suspend"] = true;
    if (seen.written_suspend || lifecycle::is_in_own_queue(*view.observed.job, seen.queue))
        patch["metadata"]["annotations"][api::written_suspend_annotation] = "true";
    kube::Request request =
        kube::merge_patch(kube::resources::job_sets, meta.key(), std::move(patch), as_seen);
    request = kube::without_object(std::move(request));
    const auto patched = co_await server.send(std::move(request));
    if (!patched)
        co_return ended(
            WriteFailed{"JobSet " + to_string(meta.key()), patched.error(), lifecycle::Write::suspend});
    written.job_set = kube::version_of(*patched);
    co_return Outcome();
}

}  // namespace controller
