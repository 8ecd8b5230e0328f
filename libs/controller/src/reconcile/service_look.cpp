#include "reconcile/service_look.hpp"

#include "api/names.hpp"
#include "controller/reconcile/coalesced_reads.hpp"
#include "kube/client/request.hpp"
#include "lifecycle/service.hpp"

namespace controller {
namespace {

using api::Json;
using lifecycle::ServiceLook;

// The API server answers from its watch cache: each job that runs for half a minute asks once.
kube::Request get_from_watch_cache(const api::ObjectKey& service) {
    kube::Request request = kube::get(kube::resources::services, service);
    request.target += "?resourceVersion=0";
    return request;
}

kube::Request wake_job_set(const api::JobSet& job_set, const Json& looked_at) {
    Json patch;
    patch["metadata"]["annotations"][api::service_missing_annotation] = looked_at;
    const kube::SameVersion as_seen(job_set.meta);
    return kube::without_object(
        kube::merge_patch(kube::resources::job_sets, job_set.meta.key(), std::move(patch), as_seen));
}

// Returns whether the Service of another owner selects the Pods; nullopt if the JobSet is not known.
kube::Task<std::optional<bool>> selects_pods_of(kube::ApiServer& server, const api::JobSet& job_set,
                                                const Json& service) {
    const auto live = co_await read(server, kube::resources::job_sets, job_set.meta.key(), managed_fields);
    if (!live || !*live) co_return std::nullopt;
    const Json& object = **live;
    if (object["metadata"]["uid"].as_string() != job_set.meta.uid) co_return std::nullopt;
    co_return lifecycle::selects_pods(service, lifecycle::labels_of_pods(job_set.meta.name, object["spec"]));
}

}  // namespace

kube::Task<ServiceLook> look_at_service(kube::ApiServer& server, const View& view, api::Time now,
                                        WrittenVersions& written) {
    const api::JobSet& job_set = *view.observed.job_set;
    kube::Request request = get_from_watch_cache({job_set.meta.ns, job_set.service});
    const auto service = co_await kube::fetch(server, std::move(request), managed_fields);
    if (!service && service.error().code != api::Errc::not_found) co_return ServiceLook::unread;
    if (!service) {
        // JobSet makes it before the Jobs, unless one of another owner was in its way.
        if (job_set.replicated_jobs.empty()) co_return ServiceLook::absent;
        kube::Request wakes = wake_job_set(job_set, api::format_time(now));
        const auto patched = co_await server.send(std::move(wakes));
        if (patched) written.job_set = kube::version_of(*patched);
        // At a conflict another writer has changed the JobSet, which wakes JobSet as well.
        const bool is_woken = patched || patched.error().code == api::Errc::conflict;
        co_return is_woken ? ServiceLook::absent : ServiceLook::unread;
    }
    if (api::parse_meta(*service).controller_uid == job_set.meta.uid) co_return ServiceLook::usable;
    const auto selects = co_await selects_pods_of(server, job_set, *service);
    if (!selects) co_return ServiceLook::unread;
    co_return *selects ? ServiceLook::usable : ServiceLook::taken;
}

}  // namespace controller
