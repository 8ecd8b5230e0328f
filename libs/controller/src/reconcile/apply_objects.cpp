#include "reconcile/apply_objects.hpp"

#include <algorithm>
#include <stdexcept>

#include "reconcile/changed_meanwhile.hpp"
#include "runtime/applied_hash.hpp"

namespace controller {
namespace {

using api::Json;
using lifecycle::WriteFailed;
using runtime::ApplyPolicy;

// Returns the need by which the plugin has seen the live object that it builds.
const runtime::Need& need_of(const Json& object, const runtime::Needs& needs) {
    const api::ObjectKey key = api::parse_meta(object).key();
    const auto at = std::find_if(needs.objects.begin(), needs.objects.end(), [&](const runtime::Need& need) {
        return need.apply && need.key == key && is_of(need.resource, object);
    });
    if (at == needs.objects.end())
        throw std::logic_error("a plugin builds an object that it did not name among its needs: " +
                               std::string(object["kind"].as_string()) + " " + to_string(key));
    return *at;
}

// Kubernetes' own kinds know no apply that only creates.
bool can_be_applied(const kube::Resource& resource) { return !resource.group.empty(); }

// Returns a request that can only create, so it changes no object that was made since the read.
kube::Request creation(const kube::Resource& resource, Json wanted) {
    return can_be_applied(resource) ? kube::apply_new(resource, std::move(wanted))
                                    : kube::create(resource, wanted);
}

// Returns the whole object, with the metadata that others may have changed: without an apply, no record shows
// which fields of `live` are to be withdrawn.
Json replacement(Json wanted, const Json& live) {
    Json metadata = live["metadata"];
    metadata.erase("managedFields");
    for (const char* name : {"labels", "annotations"})
        for (const auto& [key, value] : std::as_const(wanted)["metadata"][name].members())
            metadata[name][key] = value;
    wanted["metadata"] = std::move(metadata);
    return wanted;
}

// Returns a request that changes `live` only as it was read.
kube::Request change(const kube::Resource& resource, Json wanted, const Json& live) {
    if (!can_be_applied(resource)) return kube::replace(resource, replacement(std::move(wanted), live));
    return kube::apply(resource, std::move(wanted), kube::SameVersion(api::parse_meta(live)), true);
}

bool is_going(const Json& live) { return live["metadata"].contains("deletionTimestamp"); }

// Whether an earlier run has used the object: its scheduler has said something about it.
bool is_used(const Json& live) { return !live["status"]["conditions"].items().empty(); }

// `answer`: what the cluster has stored; null: it lacks the kind.
std::string what_lacks(const runtime::BuiltObject& built, const Json& answer) {
    for (const runtime::Requirement& each : built.requirements) {
        const std::string needs(each.needs);
        if (answer.is_null() && each.member.empty()) return "needs " + needs;
        const bool is_dropped = !answer.is_null() && !each.member.empty() &&
                                built.object["spec"].contains(each.member) &&
                                !answer["spec"].contains(each.member);
        if (is_dropped)
            return "the cluster drops spec." + std::string(each.member) + ", which needs " + needs;
    }
    return "the cluster does not keep all fields of its spec";
}

// Fails if TrainJob or JobSet have changed since they were looked at: what has been read meanwhile may be of
// a later run, which another reconciler has begun.
kube::Task<StepFailure> see_that_no_run_has_begun(kube::ApiServer& server, const View& view) {
    const api::ObjectMeta& job = view.observed.job->meta;
    const auto is_as_seen = [](const std::optional<Json>& now, const std::string& version) {
        return (now ? api::parse_meta(*now).resource_version : "") == version;
    };
    const std::string job_name = "TrainJob " + to_string(job.key());
    const auto now = co_await read(server, kube::resources::train_jobs, job.key(), managed_fields);
    if (!now) co_return lifecycle::ReadFailed{job_name, now.error()};
    if (!is_as_seen(*now, job.resource_version))
        co_return WriteFailed{job_name, changed_meanwhile("it has changed; reconciling again")};
    const std::string job_set_name = "JobSet " + to_string(job.key());
    const auto job_set = co_await read(server, kube::resources::job_sets, job.key(), managed_fields);
    if (!job_set) co_return lifecycle::ReadFailed{job_set_name, job_set.error()};
    const auto& seen = view.observed.job_set;
    if (!is_as_seen(*job_set, seen ? seen->meta.resource_version : ""))
        co_return WriteFailed{job_set_name, changed_meanwhile("it has changed; reconciling again")};
    co_return lifecycle::Done();
}

kube::Task<StepFailure> remove(kube::ApiServer& server, const runtime::Need& name, const Json& live) {
    kube::Request removal = kube::remove(name.resource, name.key, kube::Propagation::background,
                                         kube::SameObject(api::parse_meta(live).uid));
    const auto removed = co_await server.send(std::move(removal));
    if (removed || removed.error().code == api::Errc::not_found) co_return lifecycle::Done();
    co_return WriteFailed{described(name), removed.error(), lifecycle::Write::remove};
}

// An object that the cluster has not kept as a whole goes again: Pods would be scheduled by what is left.
kube::Task<StepFailure> create_whole(kube::ApiServer& server, const runtime::BuiltObject& built,
                                     const runtime::Need& name) {
    const Json wanted = runtime::with_applied_hash(built.object);
    kube::Request request = creation(name.resource, wanted);
    const auto made = co_await kube::fetch(server, std::move(request));
    if (!made && made.error().code == api::Errc::not_found)
        co_return lifecycle::Unavailable{described(name), what_lacks(built, Json())};
    if (!made) co_return WriteFailed{described(name), made.error()};
    if (runtime::is_applied(wanted, *made)) co_return lifecycle::Done();
    auto removed = co_await remove(server, name, *made);
    if (!std::holds_alternative<lifecycle::Done>(removed)) co_return removed;
    co_return lifecycle::Unavailable{described(name), what_lacks(built, *made)};
}

kube::Task<StepFailure> remove_of_former_run(kube::ApiServer& server, const View& view,
                                             const runtime::Need& name, const Json& live) {
    auto checked = co_await see_that_no_run_has_begun(server, view);
    if (!std::holds_alternative<lifecycle::Done>(checked)) co_return checked;
    co_return co_await remove(server, name, live);
}

// `live`: nullptr if there is none. An object that goes is awaited where the JobSet is written, and else no
// obstacle: Pods keep it until they have ended.
kube::Task<StepFailure> apply_for_run(kube::ApiServer& server, const View& view,
                                      const runtime::BuiltObject& built, const runtime::Need& name,
                                      const Json* live, Beside beside, bool is_suspended) {
    if (is_suspended) {
        if (live && !is_going(*live)) co_return co_await remove_of_former_run(server, view, name, *live);
        co_return lifecycle::Done();
    }
    if (!live) {
        auto created = co_await create_whole(server, built, name);
        // It was there when the JobSet was created, and its Pods run.
        const bool is_lost =
            beside != Beside::new_job_set && std::holds_alternative<lifecycle::Unavailable>(created);
        co_return is_lost ? StepFailure(lifecycle::Done()) : std::move(created);
    }
    if (beside != Beside::new_job_set) co_return lifecycle::Done();
    const bool is_right =
        !is_used(*live) && runtime::is_applied(runtime::with_applied_hash(built.object), *live);
    if (is_right && !is_going(*live)) co_return lifecycle::Done();
    if (!is_going(*live)) {
        auto removed = co_await remove_of_former_run(server, view, name, *live);
        if (!std::holds_alternative<lifecycle::Done>(removed)) co_return removed;
    }
    co_return lifecycle::WaitingForDeletion{.objects = {described(name)}};
}

// Returns nullopt if `live` is as it should be. nullptr: the object does not exist yet.
std::optional<kube::Request> request_for(const runtime::BuiltObject& built, const runtime::Need& name,
                                         const Json* live) {
    const kube::Resource& resource = name.resource;
    const bool once = built.when == ApplyPolicy::once;
    if (once && live) return std::nullopt;
    Json wanted = once ? built.object : runtime::with_applied_hash(built.object);
    if (!live) return creation(resource, std::move(wanted));
    if (runtime::is_applied(wanted, *live)) return std::nullopt;
    return change(resource, std::move(wanted), *live);
}

}  // namespace

kube::Task<StepFailure> apply_objects(kube::ApiServer& server, const View& view, const runtime::Built& built,
                                      const NeededObjects& found, Beside beside, Template pods) {
    const bool is_suspended = built.objects.back().object["spec"]["suspend"].bool_or(false);
    for (std::size_t i = 0; i + 1 < built.objects.size(); ++i) {
        const runtime::BuiltObject& each = built.objects[i];
        if (each.when == ApplyPolicy::with_job_set && beside != Beside::new_job_set) continue;
        if (each.when == ApplyPolicy::once && beside == Beside::own_job_set) continue;
        const runtime::Need& name = need_of(each.object, found.needs);
        const Json* const live = runtime::find_observed(found.observed, name);
        if (each.when == ApplyPolicy::for_run) {
            auto applied = co_await apply_for_run(server, view, each, name, live, beside, is_suspended);
            if (!std::holds_alternative<lifecycle::Done>(applied)) co_return applied;
            continue;
        }
        if (live && each.when == ApplyPolicy::always && pods == Template::of_others) continue;
        // Its name is free once the last Pod that uses it has gone.
        if (live && name.resource == api::resources::volume_claims && is_going(*live))
            co_return lifecycle::WaitingForDeletion{.objects = {described(name)}};
        auto request = request_for(each, name, live);
        if (!request) continue;
        const auto written = co_await server.send(std::move(*request));
        if (!written) co_return WriteFailed{described(name), written.error()};
    }
    co_return lifecycle::Done();
}

std::vector<std::string> lost_objects(const runtime::Built& built, const NeededObjects& found) {
    std::vector<std::string> lost;
    for (const runtime::BuiltObject& each : built.objects)
        if (each.when == ApplyPolicy::once)
            if (const runtime::Need& name = need_of(each.object, found.needs);
                !runtime::find_observed(found.observed, name))
                lost.push_back(described(name));
    return lost;
}

}  // namespace controller
