#pragma once
#include "controller/reconcile/needs.hpp"
#include "controller/reconcile/observe.hpp"
#include "controller/reconcile/written_versions.hpp"
#include "kube/client/api_server.hpp"
#include "lifecycle/decision.hpp"
#include "lifecycle/outcome.hpp"

namespace controller {

/// Does what a decision about one TrainJob asks for. Every write carries what it was decided on (uid,
/// resourceVersion) or is a create, so repeating one, or doing it late, changes nothing.
class Writer {
public:
    Writer(kube::ApiServer& server, const View& view, BuildContext build_context, WrittenVersions& written)
        : server_(server), view_(view), build_context_(build_context), written_(written) {}

    /// References in the arguments must live until the coroutine ends.
    kube::Task<lifecycle::Outcome> act(const lifecycle::Decision& decision);

    /// It turned out that something has to be done that cannot be undone, or was in the way, and the view has
    /// not everything live: nothing was done that is wrong then. Decide again on a live one.
    bool wants_live_view() const { return wants_live_view_; }

private:
    kube::Task<lifecycle::Outcome> carry_out(const lifecycle::Decision& decision);
    kube::Task<lifecycle::Outcome> clean_up(lifecycle::CleanUp step);
    kube::Task<lifecycle::Outcome> expire();
    kube::Task<lifecycle::Outcome> run(lifecycle::Run step);
    kube::Task<lifecycle::Outcome> write(lifecycle::Run step);
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
    bool wants_live_view_ = false;
};

}  // namespace controller
