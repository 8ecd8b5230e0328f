#include "lifecycle/plan_job_set.hpp"

#include <utility>

#include "api/job_set.hpp"
#include "api/names.hpp"
#include "lifecycle/recreate.hpp"
#include "lifecycle/refusal.hpp"
#include "lifecycle/withdrawal.hpp"
#include "runtime/applied_hash.hpp"
#include "runtime/live_defaults.hpp"

namespace lifecycle {
namespace {

using api::Json;
using Step = JobSetPlan::Step;

const Json& written_suspend(const Json& job_set) {
    return job_set["metadata"]["annotations"][api::written_suspend_annotation];
}

bool is_queued(const Json& live, const PlanFacts& facts) {
    return facts.is_queued || !written_suspend(live).is_null();
}

// Returns the JobSet to apply to `live`: as it is built, with the entries of others, and with the template of
// `live` if that stays.
Json as_it_fits(const Json& built, const Json& live, bool keeps, bool queued) {
    Json wanted = with_entries_of_others(built, live);
    wanted = with_mark_of_takeover(std::move(wanted), live, keeps);
    if (keeps) wanted = runtime::with_live_template(wanted, live);
    return queued ? with_written_suspend(std::move(wanted)) : wanted;
}

JobSetPlan plan_of(Step step, api::Error error = {}) {
    JobSetPlan plan;
    plan.step = step;
    plan.error = std::move(error);
    return plan;
}

// Plans a JobSet anew, unless that would lose something.
JobSetPlan plan_anew(Recreation verdict, const PlanFacts& facts, api::Error why) {
    if (loses_something(verdict)) return plan_of(Step::refuse, cannot_take(verdict, why));
    if (verdict == Recreation::wait) return plan_of(Step::wait, std::move(why));
    return facts.is_latest ? plan_of(Step::recreate, std::move(why)) : plan_of(Step::needs_live);
}

// Plans to write `plan.wanted`, which is `built` as it fits.
JobSetPlan plan_write(JobSetPlan plan, const Json& built, const Json& live, const PlanFacts& facts) {
    const bool queued = is_queued(live, facts);
    // An old view would take back what another reconciler has written.
    if (queued && !facts.is_latest && written_suspend(plan.wanted) != written_suspend(live))
        return plan_of(Step::needs_live);
    const bool has_note = has_withdrawn(live);
    if (!has_note && (runtime::is_applied(plan.wanted, live) ||
                      runtime::is_applied_but_for_suspend(built, plan.wanted, live)))
        return plan;
    plan.step = Step::apply;
    std::vector<std::string> withdrawn;
    // A change of `suspend` alone withdraws nothing, whatever others have added.
    if (!runtime::differs_in_suspend_only(built, live)) withdrawn = withdrawn_fields(live, built);
    if (!has_note && withdrawn.empty()) return plan;
    plan.withdrawn = (withdrawn.empty() ? "something" : withdrawn.front()) + " was withdrawn";
    // While the JobSet has to wait, the other objects wait too: they are for its Pods.
    if (api::parse_job_set(live).any_active()) return plan_of(Step::wait, rejection(plan.withdrawn));
    if (!facts.is_latest) return plan_of(Step::needs_live);
    Json noting = with_withdrawn(plan.wanted, live, !withdrawn.empty());
    if (!has_withdrawn(noting)) return plan;
    // It stays suspended until its Jobs are replaced, and the resume is still to be written.
    plan.noting = queued ? with_written_suspend(std::move(noting)) : std::move(noting);
    plan.step = Step::replace_jobs;
    return plan;
}

// Plans to write the JobSet as it was built, with what it may take. Its quota, its claims and what has
// finished are held for it, and nobody can undo a change of a TrainJob that is not suspended.
JobSetPlan plan_as_built(Recreation verdict, const Json& as_built, const Json& live, const PlanFacts& facts,
                         const std::string& field) {
    const api::AppliedNote then = api::applied_note(live);
    const runtime::BuildNote note = {.source = std::string(then.source),
                                     .nodes = std::string(then.nodes),
                                     .runtime = std::string(then.runtime),
                                     .inputs = std::string(then.inputs)};
    const Json built = runtime::with_applied_hash(runtime::with_live_template(as_built, live), note);
    JobSetPlan plan;
    plan.keeps_template = true;
    plan.wanted = as_it_fits(built, live, true, is_queued(live, facts));
    const std::string what = field.empty() ? "a field that was removed" : field;
    plan.kept =
        JobSetKept{.why = what + " is not as the TrainJob and its runtime say now, and a new one would " +
                          std::string(loss(verdict)) + ". Delete the JobSet to start again",
                   .is_for_good = true};
    return plan_write(std::move(plan), built, live, facts);
}

}  // namespace

Json with_written_suspend(Json job_set) {
    const bool suspends = std::as_const(job_set)["spec"]["suspend"].bool_or(false);
    job_set["metadata"]["annotations"][api::written_suspend_annotation] = suspends ? "true" : "false";
    return job_set;
}

JobSetPlan plan_job_set(const Json& as_built, const Json& live, const PlanFacts& facts) {
    if (!facts.lost_volume.empty())
        return plan_anew(recreation(refused_change(live)), facts, rejection(facts.lost_volume));
    const bool keeps_others = keeps_template_of_others(live);
    JobSetPlan plan;
    plan.keeps_template = keeps_others || runtime::keeps_template(as_built, live);
    if (!plan.keeps_template) {
        // The API server would refuse to change such a field, each time.
        const Recreation verdict = recreation(refused_change(live));
        const std::string field =
            loses_something(verdict) ? runtime::changed_fixed_field(as_built, live) : std::string();
        if (!field.empty()) return plan_as_built(verdict, as_built, live, facts, field);
    }
    plan.wanted = as_it_fits(as_built, live, plan.keeps_template, is_queued(live, facts));
    if (keeps_others)
        if (const std::string field = runtime::changed_fixed_field(as_built, live); !field.empty())
            plan.events.push_back(template_kept(field));
    return plan_write(std::move(plan), as_built, live, facts);
}

JobSetPlan plan_after_refusal(const JobSetPlan& plan, const Json& as_built, const Json& live,
                              const PlanFacts& facts, api::Error refusal) {
    if (!refuses_immutable_field(refusal)) return plan_of(Step::refuse, std::move(refusal));
    const Recreation verdict = recreation(refused_change(live));
    if (plan.keeps_template) {
        refusal = changed_by_cluster(refusal, runtime::changed_fixed_field(as_built, live));
        // The user has no change to undo.
        if (loses_something(verdict)) return plan_of(Step::refuse, std::move(refusal));
        return plan_anew(verdict, facts, std::move(refusal));
    }
    // The API server's message contains the whole list of replicated jobs.
    if (std::string field = runtime::changed_fixed_field(plan.wanted, live); !field.empty()) {
        refusal.field = std::move(field);
        refusal.message = "must not change in a JobSet";
    }
    if (loses_something(verdict)) return plan_as_built(verdict, as_built, live, facts, refusal.field);
    return plan_anew(verdict, facts, std::move(refusal));
}

bool resumes_as_it_is(const Json& live, const api::TrainJob& job, std::string_view digest) {
    const api::AppliedNote note = api::applied_note(live);
    // Claims with a volume of their own may have lost it.
    return !note.inputs.empty() && note.inputs == runtime::inputs_note(job, false) &&
           note.runtime == digest && !has_withdrawn(live) && live["spec"]["volumeClaimPolicies"].empty();
}

}  // namespace lifecycle
