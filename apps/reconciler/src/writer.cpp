#include "writer.hpp"

#include "api/names.hpp"
#include "key_material.hpp"
#include "kube/status.hpp"
#include "kube/without_object.hpp"
#include "lifecycle/event.hpp"
#include "lifecycle/recreate.hpp"
#include "net/next_turn.hpp"
#include "object_writer.hpp"
#include "runtime/applied_hash.hpp"
#include "runtime/build.hpp"
#include "runtime/live_defaults.hpp"
#include "snapshot_writer.hpp"

namespace reconciler {
namespace {

using lifecycle::Done;
using lifecycle::JobSetStep;
using lifecycle::Outcome;
using lifecycle::WriteFailed;

std::string job_set_named(const api::ObjectKey& key) { return "JobSet " + to_string(key); }

Outcome ended(Failure why) {
    Outcome outcome;
    outcome.result = std::move(why);
    return outcome;
}

// What a suspended JobSet has against becoming `wanted`, before anybody has tried.
lifecycle::SuspendedChange obstacles(const api::Json& live, const api::Json& wanted) {
    const api::JobSet facts = api::parse_job_set(live);
    lifecycle::SuspendedChange change;
    // Others may add to a suspended JobSet, and resuming it withdraws nothing of ours.
    if (!runtime::differs_in_suspend_only(wanted, live)) {
        const auto withdrawn = lifecycle::withdrawn_fields(live, wanted);
        change.withdraws = !withdrawn.empty();
        if (change.withdraws) change.why = withdrawn.front() + " was withdrawn";
    }
    change.any_active = facts.any_active();
    change.has_run = lifecycle::may_have_run(live);
    change.deletes_claims = lifecycle::deletes_volume_claims(live["spec"]);
    return change;
}

api::Error would_delete_claims(const std::string& why) {
    return {.code = api::Errc::invalid,
            .message = "cannot take this change (" + why +
                       ") without being created anew, and that would delete its volume "
                       "claims with what they hold",
            .http_status = 422};
}

}  // namespace

kube::Task<Outcome> Writer::act(const lifecycle::Decision& decision) {
    Outcome outcome = co_await carry_out(decision);
    if (view_.live == lifecycle::Live::job_and_runtime && lifecycle::may_come_of_unseen_job_set(outcome))
        wants_live_view_ = true;
    co_return outcome;
}

kube::Task<Outcome> Writer::carry_out(const lifecycle::Decision& decision) {
    if (const auto* step = std::get_if<lifecycle::CleanUp>(&decision)) co_return co_await clean_up(*step);
    if (std::holds_alternative<lifecycle::Expire>(decision)) co_return co_await expire();
    if (const auto* step = std::get_if<lifecycle::Run>(&decision)) co_return co_await run(*step);
    co_return Outcome();
}

kube::Task<Outcome> Writer::clean_up(lifecycle::CleanUp step) {
    if (!step.delete_job_set) co_return Outcome();
    const kube::Preconditions this_one = {.uid = view_.observed.job_set->meta.uid};
    kube::Request removal =
        kube::remove(kube::resources::job_sets, key(), kube::Propagation::background, this_one);
    const auto removed = co_await server_.send(std::move(removal));
    if (removed) co_return Outcome();
    co_return ended(WriteFailed{job_set_named(key()), removed.error(), lifecycle::Write::remove});
}

kube::Task<Outcome> Writer::expire() {
    const kube::Preconditions as_seen = {.uid = job().meta.uid,
                                         .resource_version = job().meta.resource_version};
    kube::Request removal =
        kube::remove(kube::resources::train_jobs, key(), kube::Propagation::foreground, as_seen);
    const auto removed = co_await server_.send(std::move(removal));
    if (removed) co_return Outcome();
    co_return ended(WriteFailed{"TrainJob " + to_string(key()), removed.error(), lifecycle::Write::remove});
}

kube::Task<Outcome> Writer::run(lifecycle::Run step) {
    if (step.suspend_job_set) {
        const auto suspended = co_await suspend_job_set();
        if (!suspended)
            co_return ended(WriteFailed{job_set_named(key()), suspended.error(), lifecycle::Write::suspend});
    }
    if (!step.build) co_return Outcome();
    if (!has_something_to_write(step.job_set)) {
        if (step.adopts) co_return co_await adopt(step.runtime);
        co_return Outcome();
    }

    auto choice = co_await choose_runtime(server_, view_, step.runtime);
    if (auto* failure = std::get_if<Failure>(&choice)) co_return ended(std::move(*failure));
    const auto& chosen = std::get<ChosenRuntime>(choice);

    auto observation = co_await observe_needs(server_, job(), *chosen.runtime, building_);
    if (auto* failure = std::get_if<Failure>(&observation)) co_return ended(std::move(*failure));
    auto& found = std::get<NeededObjects>(observation);

    // Of objects of megabytes, each step takes a tenth of a second.
    co_await net::next_turn();
    runtime::Inputs inputs = {.job = job(), .runtime = *chosen.runtime, .observed = found.observed};
    if (const auto made = make_key_material(found.needs, inputs); !made)
        co_return ended(WriteFailed{"a key pair for TrainJob " + to_string(key()), made.error()});
    auto built = runtime::build(inputs, building_.pipeline);
    if (!built) co_return ended(lifecycle::BuildFailed{built.error()});
    co_await net::next_turn();
    Outcome outcome;
    for (const runtime::Notice& notice : built->notices)
        outcome.remarks.push_back(lifecycle::warning_event(notice.reason, notice.note));

    if (auto stored = co_await store_snapshot(server_, view_, chosen); !std::holds_alternative<Done>(stored))
        co_return ended(std::move(stored));

    Outcome applied;
    switch (step.job_set) {
        case JobSetStep::leave: applied.result = co_await apply_objects(server_, *built, found, false); break;
        case JobSetStep::wait_until_gone: break;
        case JobSetStep::refuse: co_return ended(lifecycle::ForeignObject{job_set_named(key())});
        case JobSetStep::create: applied = co_await create(std::move(*built), found); break;
        case JobSetStep::update:
        case JobSetStep::resume: applied = co_await change(*built, found); break;
    }
    outcome.result = std::move(applied.result);
    outcome.job_set_written = applied.job_set_written;
    co_return outcome;
}

// While the JobSet is left alone, only a policy of the runtime that makes other objects can want a write.
// Where no runtime is there to tell, a job that runs must not come to harm by an attempt to build what it
// has.
bool Writer::has_something_to_write(JobSetStep step) const {
    if (step == JobSetStep::wait_until_gone) return false;
    if (step != JobSetStep::leave) return true;
    return view_.runtime && keeps_objects(runtime::needs(job(), *view_.runtime, {}, building_.pipeline));
}

// What stands in the way does not speak against a job that runs, and so is no failed build or write of it.
kube::Task<Outcome> Writer::adopt(lifecycle::RuntimeSource source) {
    auto choice = co_await choose_runtime(server_, view_, source);
    if (auto* failure = std::get_if<Failure>(&choice)) {
        if (std::holds_alternative<lifecycle::ReadFailed>(*failure)) co_return ended(std::move(*failure));
        co_return Outcome();
    }
    auto stored = co_await store_snapshot(server_, view_, std::get<ChosenRuntime>(choice));
    if (auto* failed = std::get_if<WriteFailed>(&stored))
        co_return ended(lifecycle::ReadFailed{std::move(failed->object), std::move(failed->error)});
    co_return Outcome();
}

// Alone, so that nothing else that is wrong can keep a job from being suspended.
kube::Async<> Writer::suspend_job_set() {
    const api::ObjectMeta& meta = view_.observed.job_set->meta;
    const kube::Preconditions as_seen = {.uid = meta.uid, .resource_version = meta.resource_version};
    api::Json patch;
    patch["spec"]["suspend"] = true;
    kube::Request request = kube::merge_patch(kube::resources::job_sets, key(), std::move(patch), as_seen);
    request = kube::without_object(std::move(request));
    const auto patched = co_await server_.send(std::move(request));
    if (!patched) co_return patched.error();
    written_.job_set = kube::version_of(*patched);
    co_return api::Result<>();
}

kube::Task<Outcome> Writer::create(runtime::Built built, const NeededObjects& found) {
    auto others = co_await apply_objects(server_, built, found, true);
    if (!std::holds_alternative<Done>(others)) co_return ended(std::move(others));
    api::Json wanted = runtime::with_applied_hash(std::move(built.objects.back().object));
    kube::Request request = kube::apply_new(kube::resources::job_sets, std::move(wanted));
    request = kube::without_object(std::move(request));
    const auto applied = co_await server_.send(std::move(request));
    if (!applied) co_return ended(WriteFailed{job_set_named(key()), applied.error()});
    written_.job_set = kube::version_of(*applied);
    Outcome outcome;
    outcome.job_set_written = true;
    co_return outcome;
}

kube::Task<Outcome> Writer::change(const runtime::Built& built, const NeededObjects& found) {
    const auto live = co_await read(server_, kube::resources::job_sets, key());
    if (!live) co_return ended(lifecycle::ReadFailed{job_set_named(key()), live.error()});
    if (!*live) {
        const api::Error error = {.code = api::Errc::conflict, .message = "it is gone; looking again"};
        co_return ended(WriteFailed{job_set_named(key()), error});
    }
    const api::ObjectMeta seen = api::parse_meta(**live);
    // Decided on another version, perhaps of another JobSet: what it says of `suspend` may be over, and our
    // apply would say it again.
    if (seen.resource_version != view_.observed.job_set->meta.resource_version) {
        if (view_.live != lifecycle::Live::all) {
            wants_live_view_ = true;
            co_return Outcome();
        }
        const api::Error error = {.code = api::Errc::conflict, .message = "it has changed; looking again"};
        co_return ended(WriteFailed{job_set_named(key()), error});
    }
    const api::Json ours = runtime::with_applied_hash(built.objects.back().object);
    api::Json wanted = lifecycle::with_entries_of_others(ours, **live);
    wanted = lifecycle::with_mark_of_takeover(std::move(wanted), **live);
    const bool as_it_should_be = runtime::is_applied(wanted, **live);
    lifecycle::SuspendedChange obstacle;
    co_await net::next_turn();
    if (!as_it_should_be) obstacle = obstacles(**live, ours);
    // A JobSet that has to wait, or to go first, keeps the others waiting: they are for its Pods.
    if (lifecycle::recreation(obstacle) == lifecycle::Recreation::needless) {
        auto others = co_await apply_objects(server_, built, found, true);
        if (!std::holds_alternative<Done>(others)) co_return ended(std::move(others));
    }
    if (as_it_should_be) co_return Outcome();
    co_await net::next_turn();
    wanted["metadata"]["uid"] = seen.uid;
    wanted["metadata"]["resourceVersion"] = seen.resource_version;
    wanted = runtime::with_live_defaults(std::move(wanted), **live);
    for (;;) {
        switch (lifecycle::recreation(obstacle)) {
            case lifecycle::Recreation::wait: co_return ended(lifecycle::Waiting{std::move(obstacle.why)});
            case lifecycle::Recreation::recreate:
                if (view_.live == lifecycle::Live::all)
                    co_return co_await recreate(**live, std::move(obstacle.why));
                wants_live_view_ = true;
                co_return Outcome();
            case lifecycle::Recreation::forbidden:
                co_return ended(WriteFailed{job_set_named(key()), would_delete_claims(obstacle.why)});
            case lifecycle::Recreation::needless: break;
        }
        kube::Request request = kube::apply(kube::resources::job_sets, wanted, true);
        request = kube::without_object(std::move(request));
        const auto applied = co_await server_.send(std::move(request));
        if (applied) {
            written_.job_set = kube::version_of(*applied);
            Outcome outcome;
            outcome.job_set_written = true;
            co_return outcome;
        }
        if (!lifecycle::refuses_immutable_field(applied.error()) || obstacle.refused)
            co_return ended(WriteFailed{job_set_named(key()), applied.error()});
        obstacle.refused = true;
        obstacle.why = applied.error().message;
    }
}

kube::Task<Outcome> Writer::recreate(const api::Json& live, std::string why) {
    // As it was seen: somebody else may have resumed it meanwhile, and what runs is not to be deleted.
    const api::ObjectMeta seen = api::parse_meta(live);
    const kube::Preconditions as_seen = {.uid = seen.uid, .resource_version = seen.resource_version};
    kube::Request removal =
        kube::remove(kube::resources::job_sets, key(), kube::Propagation::foreground, as_seen);
    const auto removed = co_await server_.send(std::move(removal));
    if (!removed && removed.error().code != api::Errc::not_found)
        co_return ended(WriteFailed{job_set_named(key()), removed.error()});
    co_return ended(lifecycle::JobSetRemoved{std::move(why)});
}

}  // namespace reconciler
