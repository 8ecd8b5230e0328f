#include "controller/reconcile/writer.hpp"

#include "api/names.hpp"
#include "controller/reconcile/needs.hpp"
#include "kube/client/status.hpp"
#include "kube/client/without_object.hpp"
#include "lifecycle/event.hpp"
#include "lifecycle/recreate.hpp"
#include "lifecycle/restarts.hpp"
#include "net/process/next_turn.hpp"
#include "reconcile/apply_objects.hpp"
#include "reconcile/job_set_writer.hpp"
#include "reconcile/runtime_snapshot.hpp"
#include "runtime/source.hpp"

namespace controller {
namespace {

using lifecycle::Done;
using lifecycle::JobSetAction;
using lifecycle::Outcome;
using lifecycle::WriteFailed;

std::string job_set_named(const api::ObjectKey& key) { return "JobSet " + to_string(key); }

Outcome ended(StepFailure why) {
    Outcome outcome;
    outcome.result = std::move(why);
    return outcome;
}

bool is_as_seen(const std::optional<api::Json>& object, const api::ObjectMeta& seen) {
    return object && api::parse_meta(*object).resource_version == seen.resource_version;
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
    if (step.resizes) co_return co_await resize();
    if (step.verifies) {
        auto verified = co_await verify(step.runtime);
        if (!std::holds_alternative<Done>(verified.result)) co_return verified;
    }
    if (!has_something_to_write(step.job_set)) {
        if (step.adopts) co_return co_await adopt(step.runtime);
        co_return Outcome();
    }

    auto choice = co_await choose_runtime(server_, view_, step.runtime);
    if (auto* failure = std::get_if<StepFailure>(&choice)) co_return ended(std::move(*failure));
    const auto& chosen = std::get<ChosenRuntime>(choice);

    auto observation = co_await observe_needs(server_, job(), *chosen.runtime, build_context_);
    if (auto* failure = std::get_if<StepFailure>(&observation)) co_return ended(std::move(*failure));
    auto& found = std::get<NeededObjects>(observation);

    // Of objects of megabytes, each step takes a tenth of a second.
    co_await net::next_turn();
    runtime::Inputs inputs = {.job = job(),
                              .runtime = *chosen.runtime,
                              .observed = found.observed,
                              .restarts_before = lifecycle::restarts_before(view_.observed)};
    if (const auto made = make_key_material(found.needs, inputs); !made)
        co_return ended(WriteFailed{"a key pair for TrainJob " + to_string(key()), made.error()});
    auto built = runtime::build(inputs, build_context_.pipeline);
    if (!built) co_return ended(lifecycle::BuildFailed{built.error()});
    co_await net::next_turn();
    Outcome outcome;
    for (const runtime::BuildWarning& notice : built->warnings)
        outcome.events.push_back(lifecycle::warning_event(notice.reason, notice.note));

    if (auto stored = co_await store_snapshot(server_, view_, chosen); !std::holds_alternative<Done>(stored))
        co_return ended(std::move(stored));
    outcome.run_policy = api::run_policy_of(*chosen.runtime);

    Outcome applied;
    const auto& live = view_.observed.job_set;
    const bool made_by_us = live && live->applied_by_us;
    const Template pods = live && live->taken_over ? Template::of_others : Template::ours;
    JobSetWriter job_set(server_, view_, runtime::source_of(inputs), written_);
    switch (step.job_set) {
        case JobSetAction::leave:
            applied.result = co_await apply_objects(
                server_, *built, found, made_by_us ? Beside::own_job_set : Beside::other_job_set, pods);
            if (made_by_us && !job().suspend) outcome.lost = lost_objects(*built, found);
            break;
        case JobSetAction::wait_until_gone: break;
        case JobSetAction::refuse: co_return ended(lifecycle::ForeignObject{job_set_named(key())});
        case JobSetAction::create: applied = co_await job_set.create(*built, found); break;
        case JobSetAction::update:
        case JobSetAction::resume: applied = co_await job_set.change(*built, found); break;
    }
    wants_live_view_ = job_set.wants_live_view();
    outcome.result = std::move(applied.result);
    outcome.job_set_written = applied.job_set_written;
    for (lifecycle::Event& event : applied.events) outcome.events.push_back(std::move(event));
    co_return outcome;
}

// While the JobSet is left alone, only a policy of the runtime that makes other objects can want a write.
// Where no runtime is there to tell, a job that runs must not come to harm by an attempt to build what it
// has.
bool Writer::has_something_to_write(JobSetAction step) const {
    if (step == JobSetAction::wait_until_gone) return false;
    if (step != JobSetAction::leave) return true;
    return view_.runtime && keeps_objects(runtime::needs(job(), *view_.runtime, {}, build_context_.pipeline));
}

// What stands in the way does not speak against a job that runs, and so is no failed build or write of it.
kube::Task<Outcome> Writer::adopt(lifecycle::RuntimeSource source) {
    auto choice = co_await choose_runtime(server_, view_, source);
    if (auto* failure = std::get_if<StepFailure>(&choice)) {
        if (std::holds_alternative<lifecycle::ReadFailed>(*failure)) co_return ended(std::move(*failure));
        co_return Outcome();
    }
    const auto& chosen = std::get<ChosenRuntime>(choice);
    auto stored = co_await store_snapshot(server_, view_, chosen);
    if (auto* failed = std::get_if<WriteFailed>(&stored))
        co_return ended(lifecycle::ReadFailed{std::move(failed->object), std::move(failed->error)});
    Outcome outcome;
    outcome.run_policy = api::run_policy_of(*chosen.runtime);
    co_return outcome;
}

// Where there is nothing to compare it with, it stays.
kube::Task<Outcome> Writer::verify(lifecycle::RuntimeSource source) {
    auto choice = co_await choose_runtime(server_, view_, source);
    if (auto* failure = std::get_if<StepFailure>(&choice)) {
        if (std::holds_alternative<lifecycle::ReadFailed>(*failure)) co_return ended(std::move(*failure));
        co_return Outcome();
    }
    const auto& chosen = std::get<ChosenRuntime>(choice);
    auto observation = co_await observe_needs(server_, job(), *chosen.runtime, build_context_);
    if (auto* failure = std::get_if<StepFailure>(&observation)) {
        if (std::holds_alternative<lifecycle::ReadFailed>(*failure)) co_return ended(std::move(*failure));
        co_return Outcome();
    }
    const auto& found = std::get<NeededObjects>(observation);
    const runtime::Inputs inputs = {.job = job(), .runtime = *chosen.runtime, .observed = found.observed};
    JobSetWriter job_set(server_, view_, runtime::source_of(inputs), written_);
    co_return co_await job_set.remove_if_outdated();
}

// The resume that follows makes it anew. The TrainJob was read before its JobSet, which another reconciler
// may have built anew in between: if it has not changed since, it was the same when the JobSet was read.
kube::Task<Outcome> Writer::resize() {
    const auto job_set = co_await read(server_, kube::resources::job_sets, key());
    if (!job_set) co_return ended(lifecycle::ReadFailed{job_set_named(key()), job_set.error()});
    const auto owner = co_await read(server_, kube::resources::train_jobs, key(), managed_fields);
    if (!owner) co_return ended(lifecycle::ReadFailed{"TrainJob " + to_string(key()), owner.error()});
    if (!is_as_seen(*job_set, view_.observed.job_set->meta) || !is_as_seen(*owner, job().meta))
        co_return ended(WriteFailed{
            job_set_named(key()),
            {.code = api::Errc::conflict, .message = "it or its TrainJob has changed; looking again"}});
    const lifecycle::Recreation verdict = lifecycle::recreation(lifecycle::refused_change(**job_set));
    Outcome outcome;
    outcome.keeps_size_for = lifecycle::loss(verdict);
    if (lifecycle::loses_something(verdict)) co_return outcome;
    const auto suspended = co_await suspend_job_set();
    if (!suspended)
        co_return ended(WriteFailed{job_set_named(key()), suspended.error(), lifecycle::Write::suspend});
    co_return outcome;
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

}  // namespace controller
