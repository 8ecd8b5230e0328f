#include "api/meta.hpp"
#include "api/names.hpp"
#include "environment.hpp"
#include "kube/client/request.hpp"
#include "support/pod_groups.hpp"

namespace model {
namespace {

using api::Json;
using test::native_pod_groups;

constexpr std::string_view groups_name = "podgroups.scheduling.k8s.io";
constexpr std::string_view protection = "scheduling.k8s.io/podgroup-protection";

kube::Request as_scheduler(kube::Request request) {
    const auto at = request.target.find("fieldManager=trainer");
    if (at != std::string::npos) request.target.replace(at, 20, "fieldManager=scheduler");
    return request;
}

}  // namespace

void PodGroupController::protect(const Kind& kind, Json& created) {
    if (kind.resource == groups_name) created["metadata"]["finalizers"] = Json::array({protection});
}

void PodGroupController::changed(const Kind& kind, const api::ObjectKey& key, const Json& before,
                                 const Json& after) {
    const Json& object = after.is_null() ? before : after;
    api::ObjectKey group = key;
    if (kind.resource == "jobs.batch")
        group.name = object["metadata"]["labels"][api::job_set_name_label].as_string();
    else if (kind.resource != groups_name)
        return;
    time_.after(lag_(), [this, group] { follow(group); });
}

void PodGroupController::follow(const api::ObjectKey& key) {
    const Stored* stored = api_.find(groups_name, key);
    if (!stored) return;
    const Json& group = stored->object;
    const bool is_going = group["metadata"].contains("deletionTimestamp");
    const bool is_placed = !group["status"]["conditions"].items().empty();
    if (has_pods(key)) {
        if (is_going || is_placed) return;
        Json patch;
        patch["status"]["conditions"] =
            Json::array({Json::object({{"type", "PodGroupInitiallyScheduled"}, {"status", "True"}})});
        kube::Request request =
            kube::merge_patch(native_pod_groups, key, std::move(patch), kube::Unconditional());
        request.target.insert(request.target.find('?'), "/status");
        api_.handle(as_scheduler(std::move(request)));
    } else if (is_going && !group["metadata"]["finalizers"].items().empty()) {
        Json patch;
        patch["metadata"]["finalizers"] = Json();
        api_.handle(
            as_scheduler(kube::merge_patch(native_pod_groups, key, std::move(patch), kube::Unconditional())));
    }
}

bool PodGroupController::has_pods(const api::ObjectKey& key) const {
    for (const auto& [name, job] : api_.all("jobs.batch")) {
        const Json& status = job.object["status"];
        if (name.ns == key.ns &&
            job.object["metadata"]["labels"][api::job_set_name_label].as_string() == key.name &&
            status["active"].int_or(0) + status["terminating"].int_or(0) > 0)
            return true;
    }
    return false;
}

}  // namespace model
