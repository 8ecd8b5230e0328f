#include <algorithm>

#include "environment.hpp"

namespace model {
namespace {

using api::Json;

// Kinds that have owners or dependents.
constexpr std::string_view collected[] = {"trainjobs.trainer.kubeflow.org",
                                          "jobsets.jobset.x-k8s.io",
                                          "jobs.batch",
                                          "pods",
                                          "configmaps",
                                          "secrets",
                                          "podgroups.scheduling.x-k8s.io",
                                          "podgroups.scheduling.volcano.sh",
                                          "podgroups.scheduling.k8s.io",
                                          "poddisruptionbudgets.policy",
                                          "networkpolicies.networking.k8s.io",
                                          "persistentvolumeclaims",
                                          "services"};

bool has_finalizer(const Json& object, std::string_view name) {
    const auto& finalizers = object["metadata"]["finalizers"].items();
    return std::any_of(finalizers.begin(), finalizers.end(),
                       [&](const Json& f) { return f.as_string() == name; });
}

struct Found {
    std::string_view resource;
    api::ObjectKey key;
    Json object;
};

kube::Request request(const char* method, const Found& found, const Json& body) {
    const auto dot = found.resource.find('.');
    const std::string_view group = dot == std::string_view::npos ? "" : found.resource.substr(dot + 1);
    const std::string version(found.object["apiVersion"].as_string());
    std::string target = group.empty() ? "/api/v1" : "/apis/" + version;
    target += "/namespaces/" + found.key.ns + "/" + std::string(found.resource.substr(0, dot)) + "/" +
              found.key.name;
    return {.method = method,
            .target = target + "?fieldManager=garbage-collector",
            .content_type = "application/merge-patch+json",
            .body = to_json(body)};
}

}  // namespace

void GarbageCollector::changed(const Json& before, const Json& after) {
    const bool goes = after.is_null() || after["metadata"].contains("deletionTimestamp");
    const bool owned_anew =
        !after.is_null() && before["metadata"]["ownerReferences"] != after["metadata"]["ownerReferences"];
    const bool lost_finalizer = before["metadata"]["finalizers"] != after["metadata"]["finalizers"];
    if (planned_ || !(goes || owned_anew || lost_finalizer)) return;
    planned_ = true;
    time_.after(lag_(), [this] {
        planned_ = false;
        sweep();
    });
}

bool GarbageCollector::sweep() {
    std::set<std::string, std::less<>> uids;
    std::vector<Found> objects;
    for (const auto resource : collected)
        for (const auto& [key, stored] : api_.all(resource)) {
            uids.emplace(stored.object["metadata"]["uid"].as_string());
            objects.push_back({resource, key, stored.object});
        }
    bool acted = false;
    const auto remove = [&](const Found& found, const char* how) {
        const Json options =
            Json::object({{"propagationPolicy", how},
                          {"preconditions", Json::object({{"uid", found.object["metadata"]["uid"]}})}});
        acted = api_.handle(request("DELETE", found, options)).ok() || acted;
    };
    const auto patch = [&](const Found& found, const char* member, Json value) {
        Json body;
        body["metadata"][member] = std::move(value);
        body["metadata"]["uid"] = found.object["metadata"]["uid"];
        acted = api_.handle(request("PATCH", found, body)).ok() || acted;
    };
    const auto without = [](const Found& found, std::string_view name) {
        Json left = Json::array();
        for (const Json& f : found.object["metadata"]["finalizers"].items())
            if (f.as_string() != name) left.push_back(f);
        return left;
    };
    const auto dependents = [&](const Found& owner, bool blocking) {
        std::vector<const Found*> found;
        for (const Found& object : objects)
            for (const Json& reference : object.object["metadata"]["ownerReferences"].items())
                if (reference["uid"] == owner.object["metadata"]["uid"] &&
                    (!blocking || reference["blockOwnerDeletion"].bool_or(false)))
                    found.push_back(&object);
        return found;
    };
    for (const Found& found : objects) {
        const Json& metadata = found.object["metadata"];
        const auto& owners = metadata["ownerReferences"].items();
        const bool orphaned =
            !owners.empty() && std::none_of(owners.begin(), owners.end(), [&](const Json& owner) {
                return uids.contains(owner["uid"].as_string());
            });
        if (orphaned && !metadata.contains("deletionTimestamp")) remove(found, "Background");
        if (has_finalizer(found.object, "foregroundDeletion")) {
            const auto blocking = dependents(found, true);
            for (const Found* dependent : blocking)
                if (!dependent->object["metadata"].contains("deletionTimestamp"))
                    remove(*dependent, dependents(*dependent, true).empty() ? "Background" : "Foreground");
            if (blocking.empty()) patch(found, "finalizers", without(found, "foregroundDeletion"));
        }
        if (has_finalizer(found.object, "orphan")) {
            for (const Found* dependent : dependents(found, false))
                patch(*dependent, "ownerReferences", Json());
            patch(found, "finalizers", without(found, "orphan"));
        }
    }
    return acted;
}

}  // namespace model
