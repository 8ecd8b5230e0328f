#include "reconcile/objects_of_run.hpp"

#include "lifecycle/refusal.hpp"
#include "reconcile/changed_meanwhile.hpp"
#include "runtime/applied_hash.hpp"

namespace controller {
namespace {

using api::Json;
using lifecycle::Done;
using lifecycle::WriteFailed;

// Returns the members of its spec that the cluster has dropped, with what it needs for each.
std::string what_was_dropped(const runtime::BuiltObject& built, const Json& answer) {
    std::string text;
    for (const runtime::Requirement& each : built.requirements) {
        const std::string member(each.member);
        if (member.empty() || !built.object["spec"].contains(member) || answer["spec"].contains(member))
            continue;
        text += (text.empty() ? "the cluster drops spec." : ", and spec.") + member + ", which needs " +
                std::string(each.needs);
    }
    return text.empty() ? "the cluster does not keep all fields of its spec" : text;
}

std::string what_the_kind_needs(const runtime::BuiltObject& built) {
    for (const runtime::Requirement& each : built.requirements)
        if (each.member.empty()) return "needs " + std::string(each.needs);
    return "the cluster does not have its kind";
}

// Fails unless the object still has that resourceVersion; empty: unless there is still none.
kube::Task<StepFailure> see_unchanged(kube::ApiServer& server, const api::Resource& kind,
                                      const api::ObjectKey& key, const std::string& version) {
    const auto now = co_await read(server, kind, key, managed_fields);
    if (!now) co_return lifecycle::ReadFailed{described(kind, key), now.error()};
    if ((*now ? api::parse_meta(**now).resource_version : "") == version) co_return Done();
    co_return WriteFailed{described(kind, key), changed_meanwhile("it has changed; reconciling again")};
}

kube::Task<StepFailure> see_that_no_run_has_begun(kube::ApiServer& server, const View& view) {
    const api::ObjectMeta& job = view.observed.job->meta;
    const api::ObjectKey key = job.key();
    auto same = co_await see_unchanged(server, kube::resources::train_jobs, key, job.resource_version);
    if (!std::holds_alternative<Done>(same)) co_return same;
    const auto& job_set = view.observed.job_set;
    const std::string version = job_set ? job_set->meta.resource_version : "";
    co_return co_await see_unchanged(server, kube::resources::job_sets, key, version);
}

kube::Task<StepFailure> remove(kube::ApiServer& server, const api::Resource& kind, const Json& live) {
    const api::ObjectMeta meta = api::parse_meta(live);
    kube::Request removal =
        kube::remove(kind, meta.key(), kube::Propagation::background, kube::SameObject(meta.uid));
    const auto removed = co_await server.send(std::move(removal));
    if (removed || removed.error().code == api::Errc::not_found) co_return Done();
    co_return WriteFailed{described(kind, meta.key()), removed.error(), lifecycle::Write::remove};
}

}  // namespace

// Tries first: an object that comes and goes would cause the next reconcile, and that the next one.
kube::Task<StepFailure> create_for_run(kube::ApiServer& server, const runtime::BuiltObject& built,
                                       const api::Resource& kind, bool is_trial) {
    const Json wanted = runtime::with_applied_hash(built.object);
    const std::string name = described(kind, api::parse_meta(wanted).key());
    for (const bool tries : {true, false}) {
        if (is_trial && !tries) break;
        kube::Request request = kube::apply_new(kind, wanted);
        if (tries) request = kube::dry_run(std::move(request));
        const auto made = co_await kube::fetch(server, std::move(request));
        if (!made && lifecycle::lacks_kind(made.error()))
            co_return lifecycle::Unavailable{name, what_the_kind_needs(built)};
        if (!made) co_return WriteFailed{name, made.error()};
        if (runtime::is_applied(wanted, *made)) continue;
        if (!tries)
            if (auto removed = co_await remove(server, kind, *made); !std::holds_alternative<Done>(removed))
                co_return removed;
        co_return lifecycle::Unavailable{name, what_was_dropped(built, *made)};
    }
    co_return Done();
}

kube::Task<StepFailure> remove_of_former_run(kube::ApiServer& server, const View& view,
                                             const api::Resource& kind, const Json& live) {
    if (api::parse_meta(live).deletion) co_return Done();
    auto checked = co_await see_that_no_run_has_begun(server, view);
    if (!std::holds_alternative<Done>(checked)) co_return checked;
    co_return co_await remove(server, kind, live);
}

}  // namespace controller
