#include "concluder.hpp"
#include "lifecycle/deadline.hpp"
#include "lifecycle/progress_deadline.hpp"
#include "lifecycle/refusal.hpp"
#include "lifecycle/requeue.hpp"
#include "lifecycle/run_policy.hpp"
#include "reports.hpp"
#include "retry_state.hpp"

namespace lifecycle {
namespace {

// A dozen seconds, the usual time for new Jobs.
constexpr int usual_looks = 4;

}  // namespace

void Concluder::operator()(const Run& run) {
    knows_job_set_ = knows_job_set_ || (run.verifies && std::holds_alternative<Done>(outcome_.result));
    conclusion_.requeue_after =
        sooner(until(time_left(observed_, now_)), next_progress_look(observed_, now_));
    merge_plugin_conditions(conclusion_.conditions, outcome_.plugin_conditions, job_.meta.generation, now_);
    std::visit(Overloaded{[&](const Done&) { done(run); }, [](const ReadFailed&) {},  // conclude_blindly
                          [&](const BuildFailed& failed) {
                              not_created(api::reason::jobs_build_failed, api::describe(failed.error));
                          },
                          [&](const WriteFailed& failed) { write_failed(failed); },
                          [&](const ForeignObject& foreign) { taken(foreign); },
                          [&](const Waiting& waiting) {
                              conclusion_.events.push_back(
                                  normal_event(event_reason::waiting_for_pods, describe(waiting)));
                          },
                          [&](const JobsReplaced& replaced) { jobs_replaced(replaced); },
                          [&](const ReadyToCreate&) { creating(); },
                          [&](const WaitingForClaim& waiting) {
                              requeue_soon();
                              forget_errors();
                              conclusion_.events.push_back(
                                  normal_event(event_reason::waiting_for_deletion, describe(waiting)));
                          },
                          [&](const JobSetRemoved& removed) {
                              conclusion_.events.push_back(normal_event(
                                  event_reason::job_set_deleted, "The JobSet is built anew: " + removed.why));
                              // The caches may never have had the JobSet, and then show no deletion.
                              if (!had_job_set(job_)) requeue_soon();
                          }},
               outcome_.result);
    if (knows_job_set_ && own_job_set(observed_)) forget_errors();
    follow_job_set();
}

void Concluder::done(const Run& run) {
    if (run.job_set == JobSetAction::refuse) return taken({name_of("JobSet", job_), observed_.is_leftover});
    if (run.build && run.job_set == JobSetAction::wait_until_gone)
        conclusion_.events.push_back(normal_event(event_reason::waiting_for_deletion, job_set_being_deleted));
    for (const std::string& object : outcome_.lost)
        conclusion_.events.push_back(warning_event(
            event_reason::keys_lost,
            object +
                " is gone. Pods of this job that start from now on cannot mount it. It is not created "
                "again while Pods run with the old keys: restore it, or suspend and resume the TrainJob"));
    if (outcome_.kept && !outcome_.kept->is_for_good) requeue_soon();
    if (learned_about_creation(run)) created();
    if (!outcome_.job_set_written) return;
    conclusion_.own_writes_need_no_reconcile = run.job_set == JobSetAction::create;
    // A job that was built from its snapshot without a runtime may have a deadline that this reconcile did
    // not know.
    const api::RunPolicy* known = policy_of(observed_);
    if (outcome_.run_policy && *outcome_.run_policy != (known ? *known : api::RunPolicy()))
        conclusion_.requeue_after = min_requeue;
    if (run.rebuilds)
        conclusion_.events.push_back(
            warning_event(event_reason::job_set_recreated, "The JobSet was gone and has been created again"));
    conclusion_.events.insert(conclusion_.events.end(), outcome_.events.begin(), outcome_.events.end());
}

// Requeues, since the JobSet's status does not show for sure when the Jobs have been made anew.
void Concluder::jobs_replaced(const JobsReplaced& replaced) {
    if (!replaced.any_removed) {
        requeue_soon();
        // JobSet needs seconds for new Jobs, so the first looks send no event.
        if (conclusion_.retry_state.failures > usual_looks)
            conclusion_.events.push_back(normal_event(event_reason::waiting_for_jobs, describe(replaced)));
        return;
    }
    conclusion_.requeue_after = min_requeue;
    conclusion_.events.push_back(normal_event(
        event_reason::jobs_replaced,
        "Suspended Jobs are created again, since they would keep what they have: " + replaced.why));
}

// Requeues with backoff: no watch shows the end of the wait.
void Concluder::requeue_soon() {
    conclusion_.retry_state = one_more_failure(observed_.retry_state, now_);
    conclusion_.requeue_after = sooner(conclusion_.requeue_after, backoff(conclusion_.retry_state.failures));
}

// Returns false while the job is being deleted, and while it waits for an old JobSet or for pods to end.
bool Concluder::learned_about_creation(const Run& run) const {
    if (!run.build || run.job_set == JobSetAction::wait_until_gone) return false;
    const bool waits_for_pods = job_.suspend && run.job_set == JobSetAction::leave;
    return !waits_for_pods || !api::find_condition(conclusion_.conditions, api::condition::created);
}

void Concluder::write_failed(const WriteFailed& failed) {
    if (failed.write == Write::apply && is_rejection(failed.error))
        return not_created(api::reason::jobs_creation_failed,
                           failed.object + ": " + api::describe(failed.error));
    report_error(failed.object, failed.error);
    say_what_delays(api::reason::jobs_creation_retrying, failed.object, failed.error);
}

std::string describe(const ForeignObject& foreign) {
    return foreign.object + " exists already and does not belong to this TrainJob" +
           (foreign.leftover ? ", but to an earlier one of this name; it will be collected" : "");
}

void Concluder::taken(const ForeignObject& foreign) {
    not_created(api::reason::jobs_creation_failed, describe(foreign));
    if (foreign.leftover) conclusion_.requeue_after = sooner(conclusion_.requeue_after, garbage_backoff);
}

}  // namespace lifecycle
