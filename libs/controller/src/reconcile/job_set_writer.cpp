#include "reconcile/job_set_writer.hpp"
#include "api/names.hpp"
#include "kube/client/api_server.hpp"
#include "kube/client/request.hpp"
#include "lifecycle/recreate.hpp"
#include "lifecycle/refusal.hpp"
#include "lifecycle/withdrawal.hpp"
#include "net/process/turns.hpp"
#include "reconcile/apply_objects.hpp"
#include "reconcile/changed_meanwhile.hpp"
#include "reconcile/kept_claims.hpp"
#include "runtime/applied_hash.hpp"
#include "runtime/live_defaults.hpp"

namespace controller {
namespace {

using api::Json;
using lifecycle::Done;
using lifecycle::JobSetPlan;
using lifecycle::Outcome;
using lifecycle::WriteFailed;

Outcome written() {
    Outcome outcome;
    outcome.job_set_written = true;
    return outcome;
}

bool is_in_own_queue(const api::TrainJob& job, const Json& job_set) {
    return lifecycle::is_in_own_queue(job, job_set["metadata"]["labels"][api::queue_label].as_string());
}

// Returns whether the JobSet stays in place, and may be written.
bool leaves_it(const JobSetPlan& plan) {
    using Step = JobSetPlan::Step;
    return plan.step == Step::keep || plan.step == Step::apply || plan.step == Step::replace_jobs;
}

Outcome kept_for(lifecycle::Recreation verdict) {
    return kept_job_set("a new one would " + std::string(lifecycle::loss(verdict)), true);
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

bool cannot_be_tried(const api::Error& error) {
    return error.http_status == 400 && error.message.find("does not support dry run") != std::string::npos;
}

kube::Async<std::shared_ptr<const Json>> whole_job_set(kube::ApiServer& server, const View& view) {
    if (view.job_set) co_return view.job_set;
    const api::ObjectKey key = view.observed.job->meta.key();
    auto read_now = co_await read(server, kube::resources::job_sets, key);
    if (!read_now) co_return read_now.error();
    if (!*read_now) co_return std::shared_ptr<const Json>();
    co_return std::make_shared<const Json>(std::move(**read_now));
}

Outcome JobSetWriter::failed(api::Error error) const {
    return ended(WriteFailed{"JobSet " + to_string(key()), std::move(error)});
}

Outcome JobSetWriter::unread(api::Error error) const {
    return ended(lifecycle::ReadFailed{"JobSet " + to_string(key()), std::move(error)});
}

Json JobSetWriter::noted(const runtime::Built& built) const {
    return runtime::with_applied_hash(built.objects.back().object, note_);
}

kube::Task<Outcome> JobSetWriter::create(const runtime::Built& built, const NeededObjects& found) {
    auto others = co_await apply_objects(server_, view_, built, found, Beside::new_job_set, Template::own);
    if (!std::holds_alternative<Done>(others)) co_return ended(std::move(others));
    Json as_built = noted(built);
    if (is_in_own_queue(job(), as_built)) as_built = lifecycle::with_written_suspend(std::move(as_built));
    auto wanted = co_await with_kept_claims(server_, job(), std::move(as_built));
    if (!wanted) co_return ended(lifecycle::ReadFailed{"volume claims", wanted.error()});
    if (wanted->going) co_return ended(std::move(*wanted->going));
    if (wanted->refusal) co_return failed(*wanted->refusal);
    kube::Request request = kube::apply_new(kube::resources::job_sets, std::move(wanted->job_set));
    request = kube::without_object(std::move(request));
    if (api::may_be_corrected(job())) co_return co_await try_first(std::move(request));
    const auto applied = co_await server_.send(std::move(request));
    if (applied) {
        written_.job_set = kube::version_of(*applied);
        co_return written();
    }
    if (!lifecycle::is_rejection(applied.error()) || view_.live < lifecycle::Live::all)
        co_return failed(applied.error());
    co_return co_await refused_creation(applied.error());
}

// Tries to create the JobSet by a dry run. A refusal leaves the TrainJob open for corrections, which end with
// the next status write.
kube::Task<Outcome> JobSetWriter::try_first(kube::Request request) {
    kube::Request attempt = kube::dry_run(std::move(request));
    const auto tried = co_await server_.send(std::move(attempt));
    if (!tried && !cannot_be_tried(tried.error())) co_return failed(tried.error());
    co_return ended(lifecycle::ReadyToCreate{});
}

// Checks a refusal: another reconciler may have created the JobSet since the read, and filled a quota with
// it. Then nothing may be corrected any more.
kube::Task<Outcome> JobSetWriter::refused_creation(api::Error refusal) {
    const auto job_set = co_await read(server_, kube::resources::job_sets, key());
    if (!job_set) co_return unread(job_set.error());
    if (*job_set) co_return failed(changed_meanwhile("it was created meanwhile; reconciling again"));
    co_return failed(std::move(refusal));
}

kube::Task<Outcome> JobSetWriter::change(const runtime::Built& built, const NeededObjects& found) {
    // A JobSet that was read for this change needs no second read: the write carries its uid and
    // resourceVersion.
    const auto seen = co_await whole_job_set(server_, view_);
    if (!seen) co_return unread(seen.error());
    if (!*seen) co_return failed(changed_meanwhile("it is gone; reconciling again"));
    const Json& live = **seen;
    const bool is_latest = view_.live >= lifecycle::Live::all;
    // The decision is based on another version, perhaps of another JobSet: its `suspend` may be out of date,
    // and this apply would write it again.
    if (api::parse_meta(live).resource_version != view_.observed.job_set->meta.resource_version) {
        if (is_latest) co_return failed(changed_meanwhile("it has changed; reconciling again"));
        wants_live_view_ = true;
        co_return Outcome();
    }
    co_await net::next_turn();
    const Json as_built = noted(built);
    auto lost = co_await lost_volume(server_, as_built, live);
    if (!lost) co_return ended(lifecycle::ReadFailed{"volume claims", lost.error()});
    co_await net::next_turn();
    const lifecycle::PlanFacts facts = {
        .is_latest = is_latest,
        .is_queued = is_in_own_queue(job(), as_built) || is_in_own_queue(job(), live),
        .lost_volume = std::move(*lost)};
    JobSetPlan plan = lifecycle::plan_job_set(as_built, live, facts);
    if (!leaves_it(plan)) co_return co_await end(plan, built, live);
    const bool of_others = plan.keeps_template && api::is_taken_over(live);
    auto others = co_await apply_objects(server_, view_, built, found, Beside::new_job_set,
                                         of_others ? Template::of_others : Template::own);
    if (!std::holds_alternative<Done>(others)) co_return ended(std::move(others));
    Outcome outcome = co_await write(plan, as_built, live);
    const auto* failure = std::get_if<WriteFailed>(&outcome.result);
    if (!failure || failure->write != lifecycle::Write::apply) co_return outcome;
    plan = lifecycle::plan_after_refusal(plan, as_built, live, facts, failure->error);
    if (leaves_it(plan)) co_return co_await write(plan, as_built, live);
    co_return co_await end(plan, built, live);
}

// Carries out a plan that leaves the JobSet in place.
kube::Task<Outcome> JobSetWriter::write(JobSetPlan& plan, const Json& as_built, const Json& live) {
    if (plan.step == JobSetPlan::Step::keep) co_return Outcome();
    Outcome outcome = written();
    outcome.kept = plan.kept;  // the first time it differs, its note is written
    outcome.events = plan.events;
    const Json* const kept = plan.keeps_template ? &as_built : nullptr;
    Json noted_one;
    const Json* latest = &live;
    co_await net::next_turn();
    if (plan.step == JobSetPlan::Step::replace_jobs) {
        if (!runtime::is_applied(plan.noting, live)) {
            auto applied = co_await apply(plan.noting, live, kept);
            if (!applied) co_return failed(applied.error());
            noted_one = std::move(*applied);
            latest = &noted_one;
        }
        Outcome replaced = co_await replace_jobs(std::move(plan.noting), *latest, kept, plan.withdrawn);
        if (!std::holds_alternative<Done>(replaced.result)) co_return replaced;
        for (lifecycle::Event& event : replaced.events) outcome.events.push_back(std::move(event));
    }
    const auto applied = co_await apply(plan.wanted, *latest, kept);
    if (!applied) co_return failed(applied.error());
    co_return outcome;
}

// Carries out any other plan.
kube::Task<Outcome> JobSetWriter::end(const JobSetPlan& plan, const runtime::Built& built, const Json& live) {
    using Step = JobSetPlan::Step;
    switch (plan.step) {
        case Step::keep:
        case Step::apply:
        case Step::replace_jobs: break;
        case Step::wait: co_return ended(lifecycle::Waiting{api::describe(plan.error)});
        case Step::recreate: co_return co_await recreate(built, live, plan.error);
        case Step::refuse: co_return failed(plan.error);
        case Step::needs_live: wants_live_view_ = true;
    }
    co_return Outcome();
}

// Applies `wanted` if `live` is still the latest version. Returns the JobSet after that.
kube::Async<Json> JobSetWriter::apply(const Json& wanted, const Json& live, const Json* kept) {
    Json sent = kept ? runtime::with_applied_template(wanted, *kept, live)
                     : runtime::with_live_defaults(wanted, live);
    co_await net::next_turn();
    const kube::SameVersion as_seen(api::parse_meta(live));
    kube::Request request = kube::apply(kube::resources::job_sets, std::move(sent), as_seen, true);
    auto applied = co_await kube::fetch(server_, std::move(request));
    if (!applied) co_return applied.error();
    written_.job_set = api::parse_meta(*applied).resource_version;
    co_return std::move(*applied);
}

kube::Task<Outcome> JobSetWriter::replace_jobs(Json noting, const Json& live, const Json* kept,
                                               std::string why) {
    kube::Request request = list_jobs(key());
    const auto jobs = co_await kube::fetch(server_, std::move(request));
    if (!jobs) co_return ended(lifecycle::ReadFailed{"Jobs of JobSet " + to_string(key()), jobs.error()});
    auto found = lifecycle::jobs_to_replace(live, (*jobs)["items"].items());
    // The round is counted before its deletions, so it counts even after a crash.
    if (!found.replacements.empty()) {
        const Json counted = lifecycle::with_replacements(std::move(noting), found.replacements);
        const auto applied = co_await apply(counted, live, kept);
        if (!applied) co_return failed(applied.error());
    }
    for (const api::ObjectMeta& each : found.remove) {
        // A Job that has been resumed or has finished since the read stays.
        const kube::SameVersion as_seen(each);
        kube::Request removal =
            kube::remove(kube::resources::jobs, each.key(), kube::Propagation::foreground, as_seen);
        const auto removed = co_await server_.send(std::move(removal));
        if (!removed && removed.error().code != api::Errc::not_found)
            co_return ended(
                WriteFailed{"Job " + to_string(each.key()), removed.error(), lifecycle::Write::remove});
    }
    if (!found.settled)
        co_return ended(
            lifecycle::JobsReplaced{std::move(why), !found.remove.empty(), std::move(found.waits_for)});
    Outcome outcome;
    if (!found.kept.empty()) outcome.events.push_back(lifecycle::jobs_not_replaced(found.kept));
    co_return outcome;
}

// Reads JobSet and TrainJob again. The TrainJob was read before its JobSet, and another reconciler may have
// built a changed TrainJob in between. If it has not changed since, it was the same when the JobSet was read.
kube::Task<Outcome> JobSetWriter::read_again(std::shared_ptr<const Json>& job_set) {
    auto seen = co_await whole_job_set(server_, view_);
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
    if (!runtime::is_built_from_other(live, note_)) co_return Outcome();
    const lifecycle::Recreation verdict = lifecycle::recreation(lifecycle::refused_change(live));
    if (lifecycle::loses_something(verdict)) co_return kept_for(verdict);
    const api::Error outdated = lifecycle::rejection("it was created from what has been corrected since");
    co_return co_await remove(live, outdated);
}

kube::Task<Outcome> JobSetWriter::make_way(const runtime::Built& built) {
    std::shared_ptr<const Json> seen;
    if (auto looked = co_await read_again(seen); !std::holds_alternative<Done>(looked.result))
        co_return looked;
    const lifecycle::Recreation verdict = lifecycle::recreation(lifecycle::refused_change(*seen));
    if (lifecycle::loses_something(verdict)) co_return kept_for(verdict);
    const api::Error resized = lifecycle::rejection("spec.trainer.numNodes has changed");
    Json counted;
    Outcome planned = co_await plan_recreation(built, *seen, resized, counted);
    // An error that is no verdict, such as a timeout of a webhook, is no reason against a running job either.
    if (const auto* failure = std::get_if<WriteFailed>(&planned.result)) {
        // The API server gets the pause that it asks for, which is a failure's.
        if (failure->error.retry_after) co_return planned;
        co_return kept_job_set(api::describe(failure->error), false);
    }
    if (!std::holds_alternative<Done>(planned.result)) co_return planned;
    co_return co_await set_suspend(server_, view_, written_, true);
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
    const kube::SameVersion as_seen(api::parse_meta(live));
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

kube::Task<Outcome> set_suspend(kube::ApiServer& server, const View& view, WrittenVersions& written,
                                bool suspend) {
    const api::JobSet& seen = *view.observed.job_set;
    const api::ObjectMeta& meta = seen.meta;
    const kube::SameVersion as_seen(meta);
    Json patch;
    patch["spec"]["suspend"] = suspend;
    if (seen.written_suspend || lifecycle::is_in_own_queue(*view.observed.job, seen.queue))
        patch["metadata"]["annotations"][api::written_suspend_annotation] = suspend ? "true" : "false";
    kube::Request request =
        kube::merge_patch(kube::resources::job_sets, meta.key(), std::move(patch), as_seen);
    request = kube::without_object(std::move(request));
    const auto patched = co_await server.send(std::move(request));
    if (!patched)
        co_return ended(WriteFailed{"JobSet " + to_string(meta.key()), patched.error(),
                                    suspend ? lifecycle::Write::suspend : lifecycle::Write::apply});
    written.job_set = kube::version_of(*patched);
    Outcome outcome;
    outcome.job_set_written = !suspend;
    co_return outcome;
}

}  // namespace controller
