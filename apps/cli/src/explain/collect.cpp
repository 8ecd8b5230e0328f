#include "explain/collect.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "api/job_set_names.hpp"
#include "api/names.hpp"
#include "api/time.hpp"
#include "cluster/lists.hpp"
#include "cluster/refusal.hpp"
#include "controller/reconcile/observe.hpp"
#include "explain/progress.hpp"
#include "job/findings.hpp"
#include "job/read.hpp"
#include "runtime/plugin.hpp"

namespace cli {
namespace {

using api::Json;
namespace resources = kube::resources;

constexpr std::string_view workload_versions[] = {"v1beta2", "v1beta1"};

std::string_view text_at(const Json& object, std::string_view a, std::string_view b) {
    return object[a][b].as_string();
}

kube::Async<Json> read_if_there(kube::ApiServer& server, kube::Resource resource, api::ObjectKey key) {
    auto object = co_await controller::read(server, resource, std::move(key), controller::managed_fields);
    if (!object) co_return object.error();
    co_return *object ? std::move(**object) : Json();
}

// Returns the newest of the TrainJob's Workloads; null if there is none.
kube::Async<Json> read_workload(kube::ApiServer& server, std::string ns, std::string uid) {
    api::Result<std::vector<Json>> list = std::vector<Json>();
    // Kueue before 0.15 serves only the second version.
    for (const std::string_view version : workload_versions) {
        ListQuery query = {.resource = {"kueue.x-k8s.io", version, "workloads", true},
                           .ns = ns,
                           .labels = "kueue.x-k8s.io/job-uid=" + uid};
        list = co_await read_objects(server, std::move(query));
        if (list || list.error().code != api::Errc::not_found) break;
    }
    if (!list) co_return list.error();
    const auto newest = std::max_element(list->begin(), list->end(), [](const Json& a, const Json& b) {
        return text_at(a, "metadata", "creationTimestamp") < text_at(b, "metadata", "creationTimestamp");
    });
    co_return newest == list->end() ? Json() : std::move(*newest);
}

template <class T>
ReadResult<T> part_of(api::Result<T> result) {
    if (!result) return {.unread = api::describe(result.error())};
    return {.found = std::move(*result)};
}

bool is_job_of(std::string_view name, const Json& job_set) {
    const auto& jobs = job_set["spec"]["replicatedJobs"].items();
    return std::any_of(jobs.begin(), jobs.end(), [&](const Json& each) {
        return api::job_set_names::is_job(name, text_at(job_set, "metadata", "name"),
                                          each["name"].as_string());
    });
}

// A program that ends while the hook still waits for that takes the hook with it.
bool is_of_clean_stop(const Json& event, const Json& pod) {
    return event["reason"].as_string() == "FailedPreStopHook" &&
           !pod["metadata"]["deletionTimestamp"].is_null();
}

// Returns whether a plugin makes such objects under the TrainJob's name, as PodGroups.
bool is_built_beside(std::string_view kind) {
    static const auto kinds = runtime::owned_kinds();
    return std::any_of(kinds.begin(), kinds.end(),
                       [&](const api::Resource& each) { return each.kind == kind; });
}

// Earlier objects may have had the same names.
bool is_about(const Json& event, const RelatedObjects& seen) {
    const std::string_view kind = text_at(event, "involvedObject", "kind");
    const std::string_view name = text_at(event, "involvedObject", "name");
    if (kind == api::train_job_kind)
        return text_at(event, "involvedObject", "uid") == text_at(seen.job, "metadata", "uid");
    if (kind == "Pod") {
        const auto& pods = seen.pods.found;
        const auto pod = std::find_if(pods.begin(), pods.end(), [&](const Json& each) {
            return text_at(each, "metadata", "name") == name;
        });
        return pod != pods.end() && !is_of_clean_stop(event, *pod);
    }
    const auto first = api::parse_time(text_at(event, "metadata", "creationTimestamp"));
    const auto created = api::parse_time(text_at(seen.job, "metadata", "creationTimestamp"));
    if (first && created && *first < *created) return false;
    if (is_built_beside(kind)) return event["type"].as_string() == "Warning";
    return kind == "JobSet" || (kind == "Job" && is_job_of(name, seen.job_set.found));
}

// All events of the TrainJob and its JobSet, and the warnings of their Jobs and Pods, and of what is built
// beside them: a quota, a missing volume, a missing claim of a gang.
kube::Async<std::vector<Json>> read_events(kube::ApiServer& server, api::ObjectKey key) {
    std::vector<Json> events;
    const std::string selectors[] = {"involvedObject.name=" + key.name,
                                     "type=Warning,involvedObject.kind=Job",
                                     "type=Warning,involvedObject.kind=Pod"};
    for (const std::string& selector : selectors) {
        ListQuery query = {.resource = resources::events, .ns = key.ns, .fields = selector};
        auto found = co_await read_objects(server, std::move(query));
        if (!found) co_return found.error();
        std::move(found->begin(), found->end(), std::back_inserter(events));
    }
    co_return events;
}

}  // namespace

kube::Async<RelatedObjects> collect(kube::ApiServer& server, api::ObjectKey key, api::ObjectKey lease) {
    RelatedObjects seen;
    seen.lease_key = lease;
    kube::Request request = kube::get(resources::train_jobs, key);
    auto job = co_await kube::fetch(server, std::move(request), controller::managed_fields);
    if (!job) {
        api::Error error = job.error();
        error = co_await advised_by(server, std::move(error), key);
        co_return error;
    }
    seen.job = std::move(*job);

    const api::TrainJob parsed = api::parse_train_job(seen.job);
    if (api::is_supported(parsed.runtime_ref)) {
        const api::ObjectKey name = controller::runtime_key(parsed);
        const kube::Resource resource =
            name.ns.empty() ? resources::cluster_training_runtimes : resources::training_runtimes;
        auto runtime = co_await read_if_there(server, resource, name);
        seen.runtime = part_of(std::move(runtime));
    }
    auto snapshot = co_await read_if_there(server, resources::config_maps, controller::snapshot_key(key));
    seen.snapshot = part_of(std::move(snapshot));
    auto job_set = co_await read_if_there(server, resources::job_sets, key);
    seen.job_set = part_of(std::move(job_set));
    if (!queue_of(parsed, seen.job_set.found).empty()) {
        const bool is_queued = !parsed.queue.empty();
        std::string owner = is_queued ? parsed.meta.uid : api::parse_meta(seen.job_set.found).uid;
        auto workload = co_await read_workload(server, key.ns, std::move(owner));
        seen.workload = part_of(std::move(workload));
    }
    ListQuery of_the_job_set = {.resource = resources::pods,
                                .ns = key.ns,
                                .labels = std::string(api::job_set_name_label) + "=" + key.name};
    auto pods = co_await read_objects(server, std::move(of_the_job_set));
    seen.pods = part_of(std::move(pods));
    std::set<std::string> silent;
    for (const Json& pod : seen.pods.found)
        if (const auto silence = silence_of(pod)) silent.insert(silence->node);
    seen.nodes = co_await read_nodes(server, std::move(silent));
    co_await add_scheduling_problems(server, key.ns, seen.pods.found);
    auto events = co_await read_events(server, key);
    seen.events = part_of(std::move(events));
    auto found_lease = co_await read_if_there(server, resources::leases, lease);
    seen.lease = part_of(std::move(found_lease));
    if (has_progress_deadline(seen.job)) {
        seen.progress_lease_key = {.ns = lease.ns, .name = std::string(progress_lease_name)};
        auto of_progress = co_await read_if_there(server, resources::leases, seen.progress_lease_key);
        seen.progress_lease = part_of(std::move(of_progress));
    }
    std::erase_if(seen.events.found, [&](const Json& event) { return !is_about(event, seen); });
    co_return seen;
}

}  // namespace cli
