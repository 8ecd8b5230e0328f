#pragma once
#include "controller/reconcile/needs.hpp"
#include "controller/reconcile/observe.hpp"
#include "controller/reconcile/written_versions.hpp"
#include "kube/client/api_server.hpp"
#include "lifecycle/outcome.hpp"
#include "lifecycle/plan_job_set.hpp"
#include "runtime/applied_hash.hpp"

namespace controller {

/// Returns the outcome of a reconcile that ends with this result.
inline lifecycle::Outcome ended(StepFailure why) {
    lifecycle::Outcome outcome;
    outcome.result = std::move(why);
    return outcome;
}

/// Returns the outcome of a reconcile that keeps the JobSet. `for_good`: no later attempt would end
/// otherwise.
inline lifecycle::Outcome kept_job_set(std::string why, bool for_good) {
    lifecycle::Outcome outcome;
    outcome.kept = lifecycle::JobSetKept{.why = std::move(why), .is_for_good = for_good};
    return outcome;
}

/// Returns the whole JobSet of a view's TrainJob; nullptr if it is gone. It is not read again if the view has
/// it. References must live until the coroutine ends.
kube::Async<std::shared_ptr<const api::Json>> whole_job_set(kube::ApiServer& server, const View& view);

/// Returns whether the API server refuses a dry run because a webhook has side effects.
bool cannot_be_tried(const api::Error& error);

/// Creates the JobSet of a TrainJob, or updates a suspended one: in place if JobSet accepts that. See
/// lifecycle/withdrawal.hpp and lifecycle/recreate.hpp.
class JobSetWriter {
public:
    JobSetWriter(kube::ApiServer& server, const View& view, runtime::BuildNote note, WrittenVersions& written)
        : server_(server), view_(view), note_(std::move(note)), written_(written) {}

    // References in the arguments must live until the coroutine ends.
    kube::Task<lifecycle::Outcome> create(const runtime::Built& built, const NeededObjects& found);
    kube::Task<lifecycle::Outcome> change(const runtime::Built& built, const NeededObjects& found);

    /// Deletes the running JobSet if it was built from something else. The result is Done if it was not, or
    /// if it is kept.
    kube::Task<lifecycle::Outcome> remove_if_outdated();
    /// Suspends the running JobSet so that it can be made anew as `built`. Keeps it if that would lose
    /// something or be refused.
    kube::Task<lifecycle::Outcome> make_way(const runtime::Built& built);

    /// The same as Writer::wants_live_view().
    bool wants_live_view() const { return wants_live_view_; }

private:
    kube::Task<lifecycle::Outcome> read_again(std::shared_ptr<const api::Json>& job_set);
    kube::Task<lifecycle::Outcome> remove(const api::Json& live, const api::Error& why);
    kube::Task<lifecycle::Outcome> try_first(kube::Request request);
    kube::Task<lifecycle::Outcome> refused_creation(api::Error refusal);
    /// `kept`: the JobSet as it is built, if the template of `live` stays; nullptr if `wanted` is as it is
    /// built.
    kube::Async<api::Json> apply(const api::Json& wanted, const api::Json& live, const api::Json* kept);
    kube::Task<lifecycle::Outcome> replace_jobs(api::Json noting, const api::Json& live,
                                                const api::Json* kept, std::string why);
    kube::Task<lifecycle::Outcome> write(lifecycle::JobSetPlan& plan, const api::Json& as_built,
                                         const api::Json& live);
    kube::Task<lifecycle::Outcome> end(const lifecycle::JobSetPlan& plan, const runtime::Built& built,
                                       const api::Json& live);
    kube::Task<lifecycle::Outcome> recreate(const runtime::Built& built, const api::Json& live,
                                            const api::Error& refusal);
    kube::Task<lifecycle::Outcome> plan_recreation(const runtime::Built& built, const api::Json& live,
                                                   const api::Error& refusal, api::Json& counted);
    kube::Async<> try_to_create(const runtime::Built& built);
    lifecycle::Outcome failed(api::Error error) const;
    lifecycle::Outcome unread(api::Error error) const;
    api::Json noted(const runtime::Built& built) const;

    const api::TrainJob& job() const { return *view_.observed.job; }
    api::ObjectKey key() const { return job().meta.key(); }

    kube::ApiServer& server_;
    const View& view_;
    runtime::BuildNote note_;
    WrittenVersions& written_;
    bool wants_live_view_ = false;
};

/// Suspends or resumes the JobSet of a view, if it is still as it was read. Changes nothing else but a note
/// of that in a JobSet with a queue of its own, so that no other error can keep a job from it. References
/// must live until the coroutine ends.
kube::Task<lifecycle::Outcome> set_suspend(kube::ApiServer& server, const View& view,
                                           WrittenVersions& written, bool suspend);

}  // namespace controller
