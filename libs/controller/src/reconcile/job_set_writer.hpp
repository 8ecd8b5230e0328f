#pragma once
#include "controller/reconcile/needs.hpp"
#include "controller/reconcile/observe.hpp"
#include "controller/reconcile/written_versions.hpp"
#include "kube/client/api_server.hpp"
#include "lifecycle/outcome.hpp"

namespace controller {

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
    /// not.
    kube::Task<lifecycle::Outcome> remove_if_outdated();

    /// As Writer::wants_live_view().
    bool wants_live_view() const { return wants_live_view_; }

private:
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
    kube::Async<> try_to_create(const runtime::Built& built);
    lifecycle::Outcome failed(api::Error error) const;
    api::Json noted(const runtime::Built& built) const;

    const api::TrainJob& job() const { return *view_.observed.job; }
    api::ObjectKey key() const { return job().meta.key(); }

    kube::ApiServer& server_;
    const View& view_;
    std::string source_;
    WrittenVersions& written_;
    bool wants_live_view_ = false;
};

}  // namespace controller
