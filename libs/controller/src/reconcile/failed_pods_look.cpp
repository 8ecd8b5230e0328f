#include "reconcile/failed_pods_look.hpp"

#include <algorithm>

#include "api/names.hpp"
#include "api/pod.hpp"
#include "kube/client/request.hpp"

namespace controller {
namespace {

// A thousand Pods, by name. A Pod has some 10 KB, and most of it is left out.
constexpr int most_pages = 5;
constexpr std::string_view managed_fields_of_pods[] = {"items", "[]", "metadata", "managedFields"};
constexpr std::string_view annotations[] = {"items", "[]", "metadata", "annotations"};
constexpr std::string_view containers[] = {"items", "[]", "spec", "containers"};
constexpr std::string_view init_containers[] = {"items", "[]", "spec", "initContainers"};
constexpr std::string_view volumes[] = {"items", "[]", "spec", "volumes"};
constexpr std::string_view affinity[] = {"items", "[]", "spec", "affinity"};
constexpr std::string_view tolerations[] = {"items", "[]", "spec", "tolerations"};
constexpr api::JsonPath unused[] = {
    managed_fields_of_pods, annotations, containers, init_containers, volumes, affinity, tolerations};
constexpr api::JsonPath unused_beside_affinity[] = {managed_fields_of_pods, annotations, containers,
                                                    init_containers,        volumes,     tolerations};

kube::Request list_pods(const api::ObjectKey& job_set, std::string_view fields, const std::string& next) {
    const std::string of_job_set = std::string(api::job_set_name_label) + "=" + job_set.name;
    std::string target = kube::path(kube::resources::pods, {job_set.ns, ""}) +
                         "?labelSelector=" + kube::percent_encode(of_job_set) +
                         "&fieldSelector=" + kube::percent_encode(fields) + "&limit=200";
    if (!next.empty()) target += "&continue=" + kube::percent_encode(next);
    return {.target = std::move(target)};
}

// Initializers and launchers may go to any node.
bool avoids_one(const api::Json& pod, const std::vector<std::string>& nodes) {
    const api::Json& of_nodes = pod["spec"]["affinity"]["nodeAffinity"];
    for (const api::Json& term :
         of_nodes["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"].items())
        for (const api::Json& field : term["matchFields"].items())
            for (const std::string& node : nodes)
                if (field["operator"] == "NotIn" && field["values"][std::size_t(0)] == node) return true;
    return false;
}

}  // namespace

kube::Async<std::optional<lifecycle::FailedPod>> look_at_failed_pods(kube::ApiServer& server,
                                                                     const api::JobSet& job_set) {
    lifecycle::FailedPods found(job_set);
    std::string next;
    for (int page = 0; page < most_pages; ++page) {
        kube::Request request = list_pods(job_set.meta.key(), "status.phase=Failed", next);
        const auto list = co_await kube::fetch(server, std::move(request), unused);
        if (!list && page == 0) co_return list.error();
        if (!list) break;
        found.add((*list)["items"].items());
        next = (*list)["metadata"]["continue"].as_string();
        if (next.empty()) break;
    }
    co_return found.first();
}

kube::Async<std::optional<api::Time>> waits_for_node_since(kube::ApiServer& server,
                                                           const api::JobSet& job_set) {
    kube::Request request = list_pods(job_set.meta.key(), "spec.nodeName=,status.phase=Pending", {});
    const auto list = co_await kube::fetch(server, std::move(request), unused_beside_affinity);
    if (!list) co_return list.error();
    std::optional<api::Time> since;
    for (const api::Json& pod : (*list)["items"].items()) {
        if (api::job_set_uid_of(pod) != job_set.meta.uid || !avoids_one(pod, job_set.excluded_nodes))
            continue;
        const api::Time created = api::parse_meta(pod).creation;
        since = std::min(since.value_or(created), created);
    }
    co_return since;
}

}  // namespace controller
