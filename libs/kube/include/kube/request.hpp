#pragma once
#include <string>
#include <string_view>

#include "api/json.hpp"
#include "api/object_key.hpp"

namespace kube {

/// A REST collection of the API server.
struct Resource {
    std::string_view group = {};  ///< empty = the core group
    std::string_view version = {};
    std::string_view plural = {};
    bool namespaced = true;
};

namespace resources {
inline constexpr Resource train_jobs = {"trainer.kubeflow.org", "v1alpha1", "trainjobs", true};
inline constexpr Resource training_runtimes = {"trainer.kubeflow.org", "v1alpha1", "trainingruntimes", true};
inline constexpr Resource cluster_training_runtimes = {"trainer.kubeflow.org", "v1alpha1",
                                                       "clustertrainingruntimes", false};
inline constexpr Resource job_sets = {"jobset.x-k8s.io", "v1alpha2", "jobsets", true};
inline constexpr Resource config_maps = {"", "v1", "configmaps", true};
inline constexpr Resource secrets = {"", "v1", "secrets", true};
inline constexpr Resource leases = {"coordination.k8s.io", "v1", "leases", true};
inline constexpr Resource events = {"events.k8s.io", "v1", "events", true};
}  // namespace resources

/// "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/name"; without a name the collection, and without a
/// namespace that of all namespaces. Names are percent-encoded.
std::string path(const Resource& resource, const api::ObjectKey& key);

/// One request to the API server, as plain data.
struct Request {
    std::string method = "GET";
    std::string target = {};
    std::string content_type = {};
    std::string body = {};
};

/// What a write insists on; a mismatch is answered with `conflict`. Empty = not checked.
struct Preconditions {
    std::string uid = {};
    std::string resource_version = {};
};

enum class Propagation { background, foreground };

Request get(const Resource& resource, const api::ObjectKey& key);
Request create(const Resource& resource, const api::Json& object);
/// Server-side apply as field manager `trainer`.
Request apply(const Resource& resource, const api::Json& object, bool force);
/// JSON merge patch as field manager `trainer`; uid and resourceVersion go into the patch when they are set.
Request merge_patch(const Resource& resource, const api::ObjectKey& key, api::Json patch,
                    const Preconditions& only_if = {});
Request merge_patch_status(const Resource& resource, const api::ObjectKey& key, api::Json patch,
                           const Preconditions& only_if = {});
Request replace(const Resource& resource, const api::Json& object);
Request remove(const Resource& resource, const api::ObjectKey& key, Propagation how,
               const Preconditions& only_if = {});

}  // namespace kube
