#include "explain/collect.hpp"

#include <algorithm>
#include <utility>

#include "api/names.hpp"
#include "api/notes.hpp"
#include "api/time.hpp"
#include "controller/reconcile/observe.hpp"

namespace cli {
namespace {

using api::Json;
namespace resources = kube::resources;

// As kubectl pages.
constexpr std::string_view page_size = "500";

// Without a reason it is not the TrainJob that is missing, but its kind.
api::Error not_there(const api::Error& error, const api::ObjectKey& key) {
    api::Error told = error;
    if (error.message.find('"' + key.name + '"') != std::string::npos)
        told.message =
            "there is no TrainJob " + to_string(key) + "; `kubectl get trainjobs -n " + key.ns +
            "` lists the existing ones" +
            (key.ns.starts_with("trainjob") ? "; what is asked for is NAMESPACE/NAME, not KIND/NAME" : "");
    else
        told.message = "this cluster has no TrainJobs (" + error.message + "): are the CRDs installed?";
    return told;
}

api::Error unreadable(const api::Error& error) {
    api::Error told = error;
    if (error.code == api::Errc::unauthorized)
        told.message += ": the credentials of the kubeconfig are not accepted; have they expired?";
    return told;
}

kube::Async<Json> read_if_there(kube::ApiServer& server, kube::Resource resource, api::ObjectKey key) {
    auto object = co_await controller::read(server, resource, std::move(key), controller::managed_fields);
    if (!object) co_return object.error();
    co_return *object ? std::move(**object) : Json();
}

// All of the one namespace; `selector` is a query, such as "labelSelector=a%3Db".
kube::Async<std::vector<Json>> read_list(kube::ApiServer& server, kube::Resource resource, std::string ns,
                                         std::string selector) {
    const std::string target =
        kube::path(resource, {ns, ""}) + "?limit=" + std::string(page_size) + "&" + selector;
    std::vector<Json> objects;
    std::string next;
    do {
        kube::Request request;
        request.target = target + (next.empty() ? "" : "&continue=" + kube::percent_encode(next));
        auto page = co_await kube::fetch(server, std::move(request));
        if (!page) co_return page.error();
        next = std::as_const(*page)["metadata"]["continue"].as_string();
        Json& items = (*page)["items"];
        if (items.is_array())
            std::move(items.items().begin(), items.items().end(), std::back_inserter(objects));
    } while (!next.empty());
    co_return objects;
}

template <class T>
ReadResult<T> part_of(api::Result<T> result) {
    if (!result) return {.unread = api::describe(result.error())};
    return {.found = std::move(*result)};
}

std::string_view text_at(const Json& object, std::string_view a, std::string_view b) {
    return object[a][b].as_string();
}

// NAME-REPLICATEDJOB-NUMBER, as JobSet names its Jobs; by the name alone it might be another TrainJob's.
bool is_job_of(std::string_view name, const Json& job_set) {
    const std::string_view end = "0123456789";
    for (const Json& each : job_set["spec"]["replicatedJobs"].items()) {
        const std::string prefix = std::string(text_at(job_set, "metadata", "name")) + "-" +
                                   std::string(each["name"].as_string()) + "-";
        if (name.starts_with(prefix) && name.size() > prefix.size() &&
            name.find_first_not_of(end, prefix.size()) == std::string_view::npos)
            return true;
    }
    return false;
}

// There may have been others of these names before.
bool is_about(const Json& event, const RelatedObjects& seen) {
    const std::string_view kind = text_at(event, "involvedObject", "kind");
    const std::string_view name = text_at(event, "involvedObject", "name");
    if (kind == api::train_job_kind)
        return text_at(event, "involvedObject", "uid") == text_at(seen.job, "metadata", "uid");
    if (kind == "Pod")
        return std::any_of(seen.pods.found.begin(), seen.pods.found.end(),
                           [&](const Json& pod) { return text_at(pod, "metadata", "name") == name; });
    const auto first = api::parse_time(text_at(event, "metadata", "creationTimestamp"));
    const auto created = api::parse_time(text_at(seen.job, "metadata", "creationTimestamp"));
    if (first && created && *first < *created) return false;
    return kind == "JobSet" || (kind == "Job" && is_job_of(name, seen.job_set.found));
}

// Of the TrainJob and its JobSet all, of their Jobs and Pods what went wrong: a quota, a volume that is not
// there.
kube::Async<std::vector<Json>> read_events(kube::ApiServer& server, api::ObjectKey key) {
    std::vector<Json> events;
    const std::string selectors[] = {"involvedObject.name=" + key.name,
                                     "type=Warning,involvedObject.kind=Job",
                                     "type=Warning,involvedObject.kind=Pod"};
    for (const std::string& selector : selectors) {
        std::string query = "fieldSelector=" + kube::percent_encode(selector);
        auto found = co_await read_list(server, resources::events, key.ns, std::move(query));
        if (!found) co_return found.error();
        std::move(found->begin(), found->end(), std::back_inserter(events));
    }
    co_return events;
}

}  // namespace

kube::Async<RelatedObjects> collect(kube::ApiServer& server, api::ObjectKey key) {
    RelatedObjects seen;
    kube::Request request = kube::get(resources::train_jobs, key);
    auto job = co_await kube::fetch(server, std::move(request), controller::managed_fields);
    if (!job)
        co_return job.error().code == api::Errc::not_found ? not_there(job.error(), key)
                                                           : unreadable(job.error());
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
    const std::string of_the_job_set =
        "labelSelector=" + kube::percent_encode(std::string(api::job_set_name_label) + "=" + key.name);
    auto pods = co_await read_list(server, resources::pods, key.ns, of_the_job_set);
    seen.pods = part_of(std::move(pods));
    auto events = co_await read_events(server, key);
    seen.events = part_of(std::move(events));
    std::erase_if(seen.events.found, [&](const Json& event) { return !is_about(event, seen); });
    co_return seen;
}

}  // namespace cli
