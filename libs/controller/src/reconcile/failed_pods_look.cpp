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

kube::Request list_pods(const api::ObjectKey& job_set, std::string_view fields, const std::string& next) {
    const std::string of_job_set = std::string(api::job_set_name_label) + "=" + job_set.name;
    std::string target = kube::path(kube::resources::pods, {job_set.ns, ""}) +
                         "?labelSelector=" + kube::percent_encode(of_job_set) +
                         "&fieldSelector=" + kube::percent_encode(fields) + "&limit=200";
    if (!next.empty()) target += "&continue=" + kube::percent_encode(next);
    return {.target = std::move(target)};
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

kube::Async<bool> lacks_pod_a_node(kube::ApiServer& server, const api::JobSet& job_set) {
    kube::Request request = list_pods(job_set.meta.key(), "spec.nodeName=,status.phase=Pending", {});
    const auto list = co_await kube::fetch(server, std::move(request), unused);
    if (!list) co_return list.error();
    const auto& pods = (*list)["items"].items();
    co_return std::any_of(pods.begin(), pods.end(),
                          [&](const api::Json& pod) { return api::job_set_uid_of(pod) == job_set.meta.uid; });
}

}  // namespace controller
