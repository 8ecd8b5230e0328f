#pragma once
#include "controller/reconcile/needs.hpp"
#include "controller/reconcile/observe.hpp"
#include "controller/reconcile/written_versions.hpp"
#include "kube/client/api_server.hpp"
#include "lifecycle/outcome.hpp"

namespace controller {

/// Of a reconcile that has come to that.
inline lifecycle::Outcome ended(StepFailure why) {
    lifecycle::Outcome outcome;
    outcome.result = std::move(why);
    return outcome;
}

/// `for_good`: no later attempt would end otherwise.
inline lifecycle::Outcome kept_job_set(std::string why, bool for_good) {
    lifecycle::Outcome outcome;
    outcome.kept = lifecycle::JobSetKept{.why = std::move(why), .is_for_good = for_good};
    return outcome;
}

/// A conflict with what it was decided on.
inline api::Error changed_meanwhile(const char* what) {
    return {.code = api::Errc::conflict, .message = what};
}

/// Whether the API server refuses a dry run because a webhook cannot be asked without effects.
bool cannot_be_tried(const api::Error& error);

/// Creates the JobSet of a TrainJob, or brings a suspended one up to date: in place wherever JobSet takes
/// that. See lifecycle/withdrawal.hpp and lifecycle/recreate.hpp.
class JobSetWriter {
public:
    /// `source`: runtime::source_of() what is built.
    JobSetWriter(kube::ApiServer& server, const View& view, std::string source, WrittenVersions& written)
        : server_(server), view_(view), source_(std::move(source)), written_(written) {}

    // References in the arguments must live until the coroutine ends.
    kube::Task<lifecycle::Outcome> create(const runtime::Built& built, const NeededObjects& found);
    kube::Task<lifecycle::Outcome> change(const runtime::Built& built, const NeededObjects& found);

    /// Deletes the JobSet, which is there and runs, if it was built from something else. Result Done: it was
    /// not, or is kept.
    kube::Task<lifecycle::Outcome> remove_if_outdated();
    /// Suspends the JobSet, which is there and runs, so that it can be made anew as `built`. Where that would
    /// lose something or be refused, it is kept.
    kube::Task<lifecycle::Outcome> make_way(const runtime::Built& built);

    /// As Writer::wants_live_view().
    bool wants_live_view() const { return wants_live_view_; }

private:
    kube::Async<std::shared_ptr<const api::Json>> whole_job_set();
    kube::Task<lifecycle::Outcome> read_again(std::shared_ptr<const api::Json>& job_set);
    kube::Task<lifecycle::Outcome> remove(const api::Json& live, const api::Error& why);
    kube::Task<lifecycle::Outcome> try_first(kube::Request request);
    kube::Task<lifecycle::Outcome> refused_creation(api::Error refusal);
    /// `kept`: as it is built, where the template of `live` stays; nullptr: `wanted` is as it is built.
    kube::Async<api::Json> apply(const api::Json& wanted, const api::Json& live, const api::Json* kept);
    kube::Task<lifecycle::Outcome> replace_jobs(api::Json noting, const api::Json& live,
                                                const api::Json* kept, std::string why);
    kube::Task<lifecycle::Outcome> refused(const runtime::Built& built, const api::Json& live,
                                           const api::Json& wanted, const api::Json* kept,
                                           api::Error refusal);
    kube::Task<lifecycle::Outcome> begin_anew(const runtime::Built& built, const api::Json& live,
                                              api::Error refusal);
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
    std::string source_;
    WrittenVersions& written_;
    bool wants_live_view_ = false;
};

/// Suspends the JobSet of a view as it was seen, and changes nothing else, so that nothing else that is wrong
/// can keep a job from being suspended. References must live until the coroutine ends.
kube::Task<lifecycle::Outcome> suspend_job_set(kube::ApiServer& server, const View& view,
                                               WrittenVersions& written);

}  // namespace controller
