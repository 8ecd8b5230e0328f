#include "controller/reconcile/writer.hpp"

#include <algorithm>

#include "api/failure_policy.hpp"
#include "api/names.hpp"
#include "controller/reconcile/needs.hpp"
#include "kube/client/status.hpp"
#include "lifecycle/event.hpp"
#include "lifecycle/plan_job_set.hpp"
#include "lifecycle/recreate.hpp"
#include "lifecycle/refusal.hpp"
#include "lifecycle/restarts.hpp"
#include "lifecycle/stopping.hpp"
#include "net/process/turns.hpp"
#include "reconcile/apply_objects.hpp"
#include "reconcile/job_set_writer.hpp"
#include "reconcile/objects_of_run.hpp"
#include "reconcile/runtime_snapshot.hpp"
#include "runtime/active_plugins.hpp"
#include "runtime/applied_hash.hpp"
#include "runtime/finished_jobs.hpp"
#include "runtime/live_defaults.hpp"

namespace controller {
namespace {

using lifecycle::Done;
using lifecycle::JobSetAction;
using lifecycle::Outcome;
using lifecycle::WriteFailed;

kube::Task<Outcome> nothing_to_do() { co_return Outcome(); }

std::string job_set_named(const api::ObjectKey& key) { return "JobSet " + to_string(key); }

// The inputs of a build besides the TrainJob.
struct Basis {
    ChosenRuntime chosen = {};
    NeededObjects found = {};
};

// Returns the inputs of a build without key pairs. They refer to the job and to the runtime. A JobSet keeps
// the nodes that it avoids and the jobs that it lacks: what is built must not depend on the time.
runtime::Inputs inputs_of(const Basis& basis, const api::TrainJob& job, const View& view,
                          const runtime::Pipeline& pipeline, api::Time now) {
    runtime::Inputs inputs = {.job = job,
                              .runtime = *basis.chosen.runtime,
                              .observed = basis.found.observed,
                              .restarts_before = lifecycle::restarts_before(view.observed)};
    if (const api::JobSet* job_set = lifecycle::own_job_set(view.observed)) {
        inputs.excluded_nodes = job_set->excluded_nodes;
        inputs.finished_jobs = job_set->finished_jobs;
    } else if (const auto policy = api::failure_policy(*basis.chosen.runtime, job.spec)) {
        inputs.excluded_nodes = api::excluded_nodes(*policy, job.failures, now);
        if (const auto* restarting = api::find_condition(job.conditions, api::condition::restarting))
            inputs.finished_jobs =
                runtime::finished_initializers(inputs, restarting->last_transition, pipeline);
    }
    return inputs;
}

// References must live until the coroutine ends.
kube::Task<std::variant<Basis, StepFailure>> look_up(kube::ApiServer& server, const View& view,
                                                     BuildContext build_context,
                                                     lifecycle::RuntimeSource source,
                                                     const api::TrainJob& wanted) {
    auto choice = co_await choose_runtime(server, view, source);
    if (auto* failure = std::get_if<StepFailure>(&choice)) co_return std::move(*failure);
    Basis basis;
    basis.chosen = std::move(std::get<ChosenRuntime>(choice));
    auto observation = co_await observe_needs(server, wanted, *basis.chosen.runtime, build_context);
    if (auto* failure = std::get_if<StepFailure>(&observation)) co_return std::move(*failure);
    basis.found = std::move(std::get<NeededObjects>(observation));
    co_return basis;
}

runtime::BuildNote note_of(const Basis& basis, const runtime::Inputs& inputs,
                           const runtime::Pipeline& pipeline) {
    const auto& needs = basis.found.needs.objects;
    const bool makes_others =
        std::any_of(needs.begin(), needs.end(), [](const runtime::Need& need) { return need.apply; });
    const bool builds_resumes = makes_others || runtime::ActivePlugins(pipeline, inputs.runtime).marks_runs();
    return {.source = runtime::source_of(inputs),
            .nodes = api::nodes_note(inputs.job),
            .runtime = basis.chosen.digest,
            .inputs = runtime::inputs_note(inputs.job, builds_resumes)};
}

// Builds the objects, with the key pairs that they need.
std::variant<runtime::Built, StepFailure> build(const runtime::Needs& needs, runtime::Inputs& inputs,
                                                const runtime::Pipeline& pipeline) {
    if (const auto made = make_key_material(needs, inputs); !made)
        return StepFailure(
            WriteFailed{"a key pair for TrainJob " + to_string(inputs.job.meta.key()), made.error()});
    auto built = runtime::build(inputs, pipeline);
    if (!built) return StepFailure(lifecycle::BuildFailed{built.error()});
    return std::move(*built);
}

// Returns the TrainJob with that number of nodes. `spec.trainer` may have any shape.
api::TrainJob with_num_nodes(api::TrainJob job, std::int64_t nodes) {
    api::Json* trainer = job.spec.find("trainer");
    if (nodes == api::nodes_of_runtime) {
        if (trainer) trainer->erase("numNodes");
        return job;
    }
    if (!job.spec.is_object()) job.spec = api::Json::object();
    if (!trainer || !trainer->is_object()) job.spec["trainer"] = api::Json::object();
    job.spec["trainer"]["numNodes"] = nodes;
    return job;
}

// Returns the outcome for a running job: only a failed read is a failure.
Outcome unless_unread(StepFailure why) {
    return std::holds_alternative<lifecycle::ReadFailed>(why) ? ended(std::move(why)) : Outcome();
}

std::string text_of(const StepFailure& why) {
    if (const auto* failed = std::get_if<lifecycle::BuildFailed>(&why)) return api::describe(failed->error);
    if (const auto* failed = std::get_if<WriteFailed>(&why))
        return failed->object + ": " + api::describe(failed->error);
    if (const auto* foreign = std::get_if<lifecycle::ForeignObject>(&why))
        return lifecycle::describe(*foreign);
    return "";
}

Outcome kept_without(StepFailure why) {
    if (std::holds_alternative<lifecycle::ReadFailed>(why)) return ended(std::move(why));
    return kept_job_set("a new one cannot be built: " + text_of(why), false);
}

kube::Task<Outcome> write_job_set(JobSetWriter& job_set, JobSetAction action, const runtime::Built& built,
                                  const NeededObjects& found) {
    return action == JobSetAction::create ? job_set.create(built, found) : job_set.change(built, found);
}

// Returns whether the JobSet could not be suspended because it has changed, or is gone.
bool has_missed_job_set(const Outcome& outcome) {
    const auto* failed = std::get_if<WriteFailed>(&outcome.result);
    return failed && failed->write == lifecycle::Write::suspend &&
           (failed->error.code == api::Errc::conflict || failed->error.code == api::Errc::not_found);
}

bool has_same_size(const runtime::Built& one, const runtime::Built& other) {
    const auto template_of = [](const runtime::Built& built) {
        return runtime::fixed_part(built.objects.back().object["spec"]);
    };
    return template_of(one) == template_of(other);
}

}  // namespace

kube::Task<Outcome> Writer::act(const lifecycle::Decision& decision) {
    Outcome outcome = co_await carry_out(decision);
    if (view_.live == lifecycle::Live::job_and_runtime && lifecycle::may_come_of_unseen_job_set(outcome))
        wants_live_view_ = true;
    // The caches may not show the runtime from which a lost snapshot can be made anew, or the latest JobSet.
    if (view_.live == lifecycle::Live::nothing &&
        (std::holds_alternative<lifecycle::BuildFailed>(outcome.result) || has_missed_job_set(outcome)))
        wants_live_view_ = true;
    co_return outcome;
}

// A function, not a coroutine, as run() and write(): the frame of a coroutine has room for each outcome that
// it can await, and 64 reconciles have one at the same time.
kube::Task<Outcome> Writer::carry_out(const lifecycle::Decision& decision) {
    if (const auto* step = std::get_if<lifecycle::CleanUp>(&decision)) return clean_up(*step);
    if (std::holds_alternative<lifecycle::Expire>(decision)) return expire();
    if (const auto* step = std::get_if<lifecycle::Run>(&decision)) return run(*step);
    return nothing_to_do();
}

kube::Task<Outcome> Writer::clean_up(lifecycle::CleanUp step) {
    Outcome outcome = co_await end_job_set(step.job_set);
    if (!std::holds_alternative<Done>(outcome.result)) co_return outcome;
    co_return co_await release_all();
}

kube::Task<Outcome> Writer::release_all() {
    for (const api::Resource& kind : view_.observed.objects_of_run) {
        Outcome outcome = co_await release(kind);
        if (!std::holds_alternative<Done>(outcome.result)) co_return outcome;
    }
    co_return Outcome();
}

// Deletes what an earlier runtime of the job had a policy for. No Pod may run, and none starts before the
// JobSet is written.
kube::Task<Outcome> Writer::withdraw_all_but(const runtime::Needs& needs) {
    for (const api::Resource& kind : view_.observed.objects_of_policies) {
        const bool is_wanted =
            std::any_of(needs.objects.begin(), needs.objects.end(),
                        [&](const runtime::Need& need) { return need.apply && need.resource == kind; });
        if (is_wanted) continue;
        Outcome outcome = co_await release(kind);
        if (!std::holds_alternative<Done>(outcome.result)) co_return outcome;
    }
    co_return Outcome();
}

// Kubernetes keeps a PodGroup until the last of its Pods has ended.
kube::Task<Outcome> Writer::release(api::Resource kind) {
    const auto object = co_await read(server_, kind, key(), managed_fields);
    if (!object) co_return ended(lifecycle::ReadFailed{described(kind, key()), object.error()});
    if (!*object) co_return Outcome();
    if (api::parse_meta(**object).controller_uid != job().meta.uid) co_return Outcome();
    Outcome outcome;
    outcome.result = co_await remove_of_former_run(server_, view_, kind, **object);
    co_return outcome;
}

kube::Task<Outcome> Writer::end_job_set(lifecycle::EndOfJobSet step) {
    using enum lifecycle::EndOfJobSet;
    if (step == suspend) co_return co_await set_suspend(server_, view_, written_, true);
    if (step != remove) co_return Outcome();
    // One that finishes in this moment keeps its Pods and their logs.
    const kube::SameVersion as_seen(view_.observed.job_set->meta);
    kube::Request removal =
        kube::remove(kube::resources::job_sets, key(), kube::Propagation::background, as_seen);
    const auto removed = co_await server_.send(std::move(removal));
    if (removed) co_return Outcome();
    co_return ended(WriteFailed{job_set_named(key()), removed.error(), lifecycle::Write::remove});
}

kube::Task<Outcome> Writer::expire() {
    const kube::SameVersion as_seen(job().meta);
    kube::Request removal =
        kube::remove(kube::resources::train_jobs, key(), kube::Propagation::foreground, as_seen);
    const auto removed = co_await server_.send(std::move(removal));
    if (removed) co_return Outcome();
    co_return ended(WriteFailed{"TrainJob " + to_string(key()), removed.error(), lifecycle::Write::remove});
}

// The next attempt begins once the Pods of this one have ended, and with them the JobSet.
kube::Task<Outcome> Writer::retire() {
    const kube::SameVersion as_seen(view_.observed.job_set->meta);
    kube::Request removal =
        kube::remove(kube::resources::job_sets, key(), kube::Propagation::foreground, as_seen);
    const auto removed = co_await server_.send(std::move(removal));
    if (removed || removed.error().code == api::Errc::not_found) co_return Outcome();
    co_return ended(WriteFailed{job_set_named(key()), removed.error(), lifecycle::Write::remove});
}

kube::Task<Outcome> Writer::run(lifecycle::Run step) {
    if (step.job_set == JobSetAction::retire) return retire();
    if (step.job_set == JobSetAction::back_off) return release_all();
    const bool only_writes = step.build && !step.suspend_job_set && !step.verifies && !step.resizes;
    return only_writes ? write(step) : run_in_steps(step);
}

kube::Task<Outcome> Writer::run_in_steps(lifecycle::Run step) {
    if (step.suspend_job_set) {
        Outcome suspended = co_await set_suspend(server_, view_, written_, true);
        if (!std::holds_alternative<Done>(suspended.result)) co_return suspended;
    }
    if (!step.build) co_return Outcome();
    Outcome verified;
    if (step.verifies) {
        verified = co_await verify(step.runtime);
        if (!std::holds_alternative<Done>(verified.result)) co_return verified;
    }
    Outcome outcome = co_await write(step);
    if (verified.kept) outcome.kept = std::move(verified.kept);
    if (!step.resizes || !std::holds_alternative<Done>(outcome.result)) co_return outcome;
    Outcome resized = co_await resize(step);
    outcome.result = std::move(resized.result);
    outcome.kept = std::move(resized.kept);
    co_return outcome;
}

kube::Task<Outcome> Writer::write(lifecycle::Run step) {
    const std::string began_with = lifecycle::began_with(view_.observed).digest;
    if (step.job_set == JobSetAction::resume && view_.job_set &&
        lifecycle::resumes_as_it_is(*view_.job_set, job(), began_with))
        return resume_as_it_is(step);
    if (has_something_to_write(step.job_set)) return build_and_write(step);
    return step.adopts ? adopt(step.runtime) : nothing_to_do();
}

// Resumes the JobSet without a build. Only one with a build tells why the cluster refuses that.
kube::Task<Outcome> Writer::resume_as_it_is(lifecycle::Run step) {
    Outcome outcome = co_await set_suspend(server_, view_, written_, false);
    const auto* failed = std::get_if<WriteFailed>(&outcome.result);
    if (!failed || !lifecycle::is_rejection(failed->error)) co_return outcome;
    co_return co_await build_and_write(step);
}

kube::Task<Outcome> Writer::build_and_write(lifecycle::Run step) {
    const auto& live = view_.observed.job_set;
    std::optional<api::TrainJob> of_former_size;
    if (step.job_set == JobSetAction::leave && lifecycle::has_former_size(view_.observed))
        of_former_size = with_num_nodes(job(), *live->built_for_nodes);
    const api::TrainJob& wanted = of_former_size ? *of_former_size : job();
    auto looked_up = co_await look_up(server_, view_, build_context_, step.runtime, wanted);
    if (const auto* failure = std::get_if<StepFailure>(&looked_up))
        co_return co_await go_on_without_build(step.job_set, *failure);
    const Basis& basis = std::get<Basis>(looked_up);
    const ChosenRuntime& chosen = basis.chosen;
    const NeededObjects& found = basis.found;
    auto done = co_await done_pods(step.job_set, found);
    if (!done) co_return ended(lifecycle::ReadFailed{"Jobs of " + job_set_named(key()), done.error()});

    // Each step takes a tenth of a second for objects of megabytes.
    co_await net::next_turn();
    runtime::Inputs inputs = inputs_of(basis, wanted, view_, build_context_.pipeline, now_);
    inputs.done = *std::move(done);
    auto made = build(found.needs, inputs, build_context_.pipeline);
    if (const auto* failure = std::get_if<StepFailure>(&made)) {
        // Users can edit the note of the former number of nodes.
        if (of_former_size) co_return Outcome();
        co_return co_await go_on_without_build(step.job_set, *failure);
    }
    const auto& built = std::get<runtime::Built>(made);
    co_await net::next_turn();
    Outcome outcome;
    for (const runtime::BuildWarning& notice : built.warnings)
        outcome.events.push_back(lifecycle::warning_event(notice.reason, notice.note));

    if (auto stored = co_await store_snapshot(server_, view_, chosen); !std::holds_alternative<Done>(stored))
        co_return ended(std::move(stored));
    outcome.run_policy = api::run_policy_of(*chosen.runtime);
    outcome.runtime_digest = chosen.digest;

    Outcome applied;
    const bool made_here = live && live->applied_here;
    const Template pods = live && live->taken_over ? Template::of_others : Template::own;
    JobSetWriter job_set(server_, view_, note_of(basis, inputs, build_context_.pipeline), written_);
    switch (step.job_set) {
        case JobSetAction::leave:
            applied.result = co_await apply_objects(
                server_, view_, built, found, made_here ? Beside::own_job_set : Beside::other_job_set, pods);
            if (made_here && !job().suspend) outcome.lost = lost_objects(built, found);
            break;
        case JobSetAction::wait_until_gone:
        case JobSetAction::wait_until_stopped:
        case JobSetAction::back_off:
        case JobSetAction::retire: break;
        case JobSetAction::refuse: co_return ended(lifecycle::ForeignObject{job_set_named(key())});
        case JobSetAction::create:
        case JobSetAction::update:
        case JobSetAction::resume:
            applied = co_await withdraw_all_but(found.needs);
            if (std::holds_alternative<Done>(applied.result))
                applied = co_await write_job_set(job_set, step.job_set, built, found);
            break;
    }
    wants_live_view_ = job_set.wants_live_view();
    outcome.result = std::move(applied.result);
    outcome.job_set_written = applied.job_set_written;
    outcome.kept = std::move(applied.kept);
    for (lifecycle::Event& event : applied.events) outcome.events.push_back(std::move(event));
    co_return outcome;
}

// Returns the Pods that do not run again of a JobSet that goes on, where an object of its run counts the
// others: as it is resumed, or once somebody else, such as Kueue, has resumed it. If the object of its last
// run was still there then, the Pods use that one.
kube::Async<api::DonePods> Writer::done_pods(JobSetAction step, const NeededObjects& found) {
    const api::JobSet* const job_set = lifecycle::own_job_set(view_.observed);
    if (!job_set) co_return api::DonePods();
    if (step == JobSetAction::resume) co_return view_.observed.done.value_or(api::DonePods());
    if (step != JobSetAction::leave || job_set->suspend) co_return api::DonePods();
    const auto& needs = found.needs.objects;
    const bool lacks_object = std::any_of(needs.begin(), needs.end(), [&](const runtime::Need& need) {
        if (need.apply != runtime::ApplyPolicy::for_run) return false;
        const api::Json* const live = runtime::find_observed(found.observed, need);
        return !live || api::parse_meta(*live).deletion;
    });
    if (!lacks_object) co_return api::DonePods();
    const auto whole = co_await whole_job_set(server_, view_);
    if (!whole) co_return whole.error();
    if (!*whole) co_return api::DonePods();
    const auto jobs = co_await read_jobs(server_, **whole);
    if (!jobs) co_return jobs.error();
    co_return lifecycle::done_pods(*job_set, *jobs);
}

// Whatever cannot be built any more, such as a job whose runtime is lost: one that runs goes on, and one that
// is resumed does so as it was built.
kube::Task<Outcome> Writer::go_on_without_build(JobSetAction step, const StepFailure& why) {
    const auto* failed = std::get_if<lifecycle::BuildFailed>(&why);
    // What another JobSet would need, such as a claim, may still be the present one's.
    const auto* foreign = std::get_if<lifecycle::ForeignObject>(&why);
    const bool is_not_built = failed || foreign;
    if (is_not_built && step == JobSetAction::leave) co_return Outcome();
    if (!is_not_built || step != JobSetAction::resume) co_return ended(why);
    const auto live = co_await whole_job_set(server_, view_);
    if (!live) co_return ended(lifecycle::ReadFailed{job_set_named(key()), live.error()});
    // What its Pods wait for is deleted with each suspension.
    if (!*live || runtime::pods_wait_for_others(**live, build_context_.pipeline)) co_return ended(why);
    std::string cause =
        "it cannot be built anew: " + (failed ? api::describe(failed->error) : lifecycle::describe(*foreign));
    Outcome outcome = co_await set_suspend(server_, view_, written_, false);
    outcome.kept = lifecycle::JobSetKept{.why = std::move(cause), .is_for_good = true};
    co_return outcome;
}

// Returns whether to build and write. While the JobSet is left alone, only a policy of the runtime that makes
// other objects needs that. Without a runtime there is no build: a failed one must not harm a running job.
bool Writer::has_something_to_write(JobSetAction step) const {
    if (step == JobSetAction::wait_until_gone || step == JobSetAction::wait_until_stopped) return false;
    if (step != JobSetAction::leave) return true;
    return view_.runtime && keeps_objects(runtime::needs(job(), *view_.runtime, {}, build_context_.pipeline));
}

// Stores the snapshot for a running JobSet of another controller. An obstacle does not count as a failed
// build or write, since the job runs.
kube::Task<Outcome> Writer::adopt(lifecycle::RuntimeSource source) {
    auto choice = co_await choose_runtime(server_, view_, source);
    if (auto* failure = std::get_if<StepFailure>(&choice)) co_return unless_unread(std::move(*failure));
    const auto& chosen = std::get<ChosenRuntime>(choice);
    auto stored = co_await store_snapshot(server_, view_, chosen);
    if (auto* failed = std::get_if<WriteFailed>(&stored))
        co_return ended(lifecycle::ReadFailed{std::move(failed->object), std::move(failed->error)});
    Outcome outcome;
    outcome.run_policy = api::run_policy_of(*chosen.runtime);
    outcome.runtime_digest = chosen.digest;
    co_return outcome;
}

// Deletes the JobSet if it is outdated. It stays if there is nothing to compare it with.
kube::Task<Outcome> Writer::verify(lifecycle::RuntimeSource source) {
    auto looked_up = co_await look_up(server_, view_, build_context_, source, job());
    if (auto* failure = std::get_if<StepFailure>(&looked_up)) co_return unless_unread(std::move(*failure));
    const Basis& basis = std::get<Basis>(looked_up);
    JobSetWriter job_set(server_, view_,
                         note_of(basis, inputs_of(basis, job(), view_, build_context_.pipeline, now_),
                                 build_context_.pipeline),
                         written_);
    co_return co_await job_set.remove_if_outdated();
}

// Makes way for a JobSet of the new size, if the size changes its template. A number that the runtime has
// anyway, or that scales nothing, needs no new JobSet.
kube::Task<Outcome> Writer::resize(lifecycle::Run step) {
    auto looked_up = co_await look_up(server_, view_, build_context_, step.runtime, job());
    if (auto* failure = std::get_if<StepFailure>(&looked_up)) co_return kept_without(std::move(*failure));
    const Basis& basis = std::get<Basis>(looked_up);
    // Without its snapshot, the JobSet may have been built from another runtime than the live one.
    if (basis.chosen.plan.store != lifecycle::SnapshotPlan::Store::keep)
        co_return kept_job_set("the snapshot of its runtime is gone", false);
    co_await net::next_turn();
    runtime::Inputs inputs = inputs_of(basis, job(), view_, build_context_.pipeline, now_);
    auto made = build(basis.found.needs, inputs, build_context_.pipeline);
    if (auto* failure = std::get_if<StepFailure>(&made)) co_return kept_without(std::move(*failure));
    const auto& built = std::get<runtime::Built>(made);
    co_await net::next_turn();
    const api::TrainJob of_former_size = with_num_nodes(job(), *view_.observed.job_set->built_for_nodes);
    runtime::Inputs former_inputs = inputs_of(basis, of_former_size, view_, build_context_.pipeline, now_);
    former_inputs.ssh_key_pair = inputs.ssh_key_pair;
    former_inputs.curve_key_pair = inputs.curve_key_pair;
    const auto former = runtime::build(former_inputs, build_context_.pipeline);
    co_await net::next_turn();
    if (former && has_same_size(*former, built)) co_return Outcome();
    if (step.is_late) co_return kept_job_set("it has run for more than ten minutes", true);
    JobSetWriter job_set(server_, view_, note_of(basis, inputs, build_context_.pipeline), written_);
    co_return co_await job_set.make_way(built);
}

}  // namespace controller
