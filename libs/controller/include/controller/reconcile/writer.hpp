#pragma once
#include "controller/reconcile/needs.hpp"
#include "controller/reconcile/observe.hpp"
#include "controller/reconcile/written_versions.hpp"
#include "kube/client/api_server.hpp"
#include "lifecycle/decision.hpp"
#include "lifecycle/outcome.hpp"

namespace controller {

/// Carries out a decision about one TrainJob. Every write carries what the decision was based on (uid,
/// resourceVersion) or is a create, so a repeated or delayed write changes nothing.
class Writer {
public:
    Writer(kube::ApiServer& server, const View& view, BuildContext build_context, WrittenVersions& written,
           api::Time now)
        : server_(server), view_(view), build_context_(build_context), written_(written), now_(now) {}

    /// References in the arguments must live until the coroutine ends.
    kube::Task<lifecycle::Outcome> act(const lifecycle::Decision& decision);

    /// Returns whether to decide again on a live view: act() has met an action that cannot be undone, or an
    /// obstacle, and the view is not all live. What it has done until then is right in any case.
    bool wants_live_view() const { return wants_live_view_; }

private:
    kube::Task<lifecycle::Outcome> carry_out(const lifecycle::Decision& decision);
    kube::Task<lifecycle::Outcome> clean_up(lifecycle::CleanUp step);
    kube::Task<lifecycle::Outcome> end_job_set(lifecycle::EndOfJobSet step);
    kube::Task<lifecycle::Outcome> release_all();
    kube::Task<lifecycle::Outcome> withdraw_all_but(const runtime::Needs& needs);
    kube::Task<lifecycle::Outcome> release(api::Resource kind);
    kube::Task<lifecycle::Outcome> expire();
    kube::Task<lifecycle::Outcome> retire();
    kube::Task<lifecycle::Outcome> run(lifecycle::Run step);
    kube::Task<lifecycle::Outcome> run_in_steps(lifecycle::Run step);
    kube::Task<lifecycle::Outcome> write(lifecycle::Run step);
    kube::Task<lifecycle::Outcome> resume_as_it_is(lifecycle::Run step);
    kube::Task<lifecycle::Outcome> build_and_write(lifecycle::Run step);
    kube::Async<api::DonePods> done_pods(lifecycle::JobSetAction step, const NeededObjects& found);
    kube::Task<lifecycle::Outcome> go_on_without_build(lifecycle::JobSetAction step, const StepFailure& why);
    bool has_something_to_write(lifecycle::JobSetAction step) const;
    kube::Task<lifecycle::Outcome> adopt(lifecycle::RuntimeSource source);
    kube::Task<lifecycle::Outcome> verify(lifecycle::RuntimeSource source);
    kube::Task<lifecycle::Outcome> resize(lifecycle::Run step);

    const api::TrainJob& job() const { return *view_.observed.job; }
    api::ObjectKey key() const { return job().meta.key(); }

    kube::ApiServer& server_;
    const View& view_;
    BuildContext build_context_;
    WrittenVersions& written_;
    const api::Time now_;
    bool wants_live_view_ = false;
};

}  // namespace controller
