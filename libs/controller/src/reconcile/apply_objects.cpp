#include "reconcile/apply_objects.hpp"

#include <algorithm>
#include <stdexcept>

#include "api/quantity.hpp"
#include "lifecycle/recreate.hpp"
#include "lifecycle/refusal.hpp"
#include "reconcile/objects_of_run.hpp"
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

// Kubernetes' own kinds, in groups such as "policy" and "networking.k8s.io", know no apply that only creates.
bool can_be_applied(const kube::Resource& resource) {
    return resource.group.find('.') != resource.group.npos && !resource.group.ends_with(".k8s.io");
}

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

// Returns whether no Pods of the job may start: it, or Kueue, holds the JobSet.
bool is_held(const View& view, const runtime::Built& built, Beside beside) {
    if (built.objects.back().object["spec"]["suspend"].bool_or(false)) return true;
    return beside != Beside::new_job_set && view.observed.job_set && view.observed.job_set->suspend;
}

// `live`: nullptr if there is none. An object that goes is awaited where the JobSet is written, and else no
// obstacle: Pods keep it until they have ended.
kube::Task<StepFailure> apply_for_run(kube::ApiServer& server, const View& view,
                                      const runtime::BuiltObject& built, const runtime::Need& name,
                                      const Json* live, Beside beside, bool held) {
    if (held) {
        if (live) co_return co_await remove_of_former_run(server, view, name.resource, *live);
        // A cluster that lacks the kind also drops from Jobs what names the object, and for good.
        const bool is_first = beside == Beside::new_job_set && !view.observed.job_set;
        if (is_first) co_return co_await create_for_run(server, built, name.resource, true);
        co_return lifecycle::Done();
    }
    if (!live) {
        auto created = co_await create_for_run(server, built, name.resource, false);
        // It was there when the JobSet was created, and its Pods run.
        const bool is_lost =
            beside != Beside::new_job_set && std::holds_alternative<lifecycle::Unavailable>(created);
        co_return is_lost ? StepFailure(lifecycle::Done()) : std::move(created);
    }
    if (beside != Beside::new_job_set && !is_going(*live)) co_return lifecycle::Done();
    const Json wanted = runtime::with_applied_hash(built.object);
    if (beside != Beside::new_job_set) {
        // The JobSet was resumed by somebody else before the object of its last run was gone, and its Pods
        // use that one.
        if (runtime::is_applied(wanted, *live)) co_return lifecycle::Done();
        const kube::SameVersion as_seen(api::parse_meta(*live));
        const auto changed = co_await server.send(kube::apply(name.resource, wanted, as_seen, true));
        if (!changed) co_return WriteFailed{described(name), changed.error()};
        co_return lifecycle::Done();
    }
    const bool is_right = !is_used(*live) && runtime::is_applied(wanted, *live);
    if (is_right && !is_going(*live)) co_return lifecycle::Done();
    auto removed = co_await remove_of_former_run(server, view, name.resource, *live);
    if (!std::holds_alternative<lifecycle::Done>(removed)) co_return removed;
    co_return lifecycle::WaitingForDeletion{.objects = {described(name)}};
}

// Returns the first field in which an existing claim is less than what is wanted; "" if it serves.
std::string lacking_field(const Json& wanted, const Json& live) {
    for (const char* field : {"accessModes", "storageClassName", "volumeMode", "volumeName", "selector"})
        if (wanted.contains(field) && wanted[field] != live[field]) return field;
    for (const auto& [resource, size] : wanted["resources"]["requests"].members()) {
        const auto asked = api::parse_quantity(size);
        const auto there = api::parse_quantity(live["resources"]["requests"][resource]);
        if (!asked || !there || *there < *asked) return "resources.requests." + resource;
    }
    return "";
}

// Returns why the Pods may not use a claim of the job, whether it is there or not; "" if they may.
std::string claim_refusal(const Json& wanted, const Json* live, const lifecycle::Observed& observed) {
    if (!live && observed.job_set && lifecycle::has_finished_jobs(*observed.job_set))
        return "it is gone, and with it what jobs have written that will not run again; restore it, or "
               "delete the JobSet so that all of them run again";
    if (!live || !api::parse_meta(*live).controller_uid.empty()) return "";
    const std::string field = lacking_field(wanted["spec"], (*live)["spec"]);
    return field.empty() ? "" : "it exists already, and its spec." + field + " is not as the runtime asks";
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
    const bool held = is_held(view, built, beside);
    for (std::size_t i = 0; i + 1 < built.objects.size(); ++i) {
        const runtime::BuiltObject& each = built.objects[i];
        if (each.when == ApplyPolicy::with_job_set && beside != Beside::new_job_set) continue;
        if (each.when == ApplyPolicy::once && beside == Beside::own_job_set) continue;
        const runtime::Need& name = need_of(each.object, found.needs);
        const Json* const live = runtime::find_observed(found.observed, name);
        if (each.when == ApplyPolicy::during_run) {
            if (held && live) {
                auto removed = co_await remove_of_former_run(server, view, name.resource, *live);
                if (!std::holds_alternative<lifecycle::Done>(removed)) co_return removed;
            }
            if (held || (live && is_going(*live))) continue;
        }
        if (each.when == ApplyPolicy::for_run) {
            auto applied = co_await apply_for_run(server, view, each, name, live, beside, held);
            if (!std::holds_alternative<lifecycle::Done>(applied)) co_return applied;
            continue;
        }
        if (live && each.when == ApplyPolicy::always && pods == Template::of_others) continue;
        if (name.resource == api::resources::volume_claims) {
            // Its name is free once the last Pod that uses it has gone.
            if (live && is_going(*live))
                co_return lifecycle::WaitingForDeletion{.objects = {described(name)}};
            if (std::string why = claim_refusal(each.object, live, view.observed); !why.empty())
                co_return WriteFailed{described(name), lifecycle::rejection(std::move(why))};
        }
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
                name.resource != api::resources::volume_claims &&
                !runtime::find_observed(found.observed, name))
                lost.push_back(described(name));
    return lost;
}

}  // namespace controller
