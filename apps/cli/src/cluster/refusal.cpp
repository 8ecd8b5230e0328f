#include "cluster/refusal.hpp"

#include "kube/client/status.hpp"

namespace cli {
namespace {

bool names(const api::Error& error, const std::string& name) {
    return !name.empty() && error.message.find('"' + name + '"') != std::string::npos;
}

// Without the name, the missing object is not the TrainJob but its kind.
std::string missing(const api::Error& error, const api::ObjectKey& key) {
    if (names(error, key.name))
        return "there is no TrainJob " + to_string(key) + "; `kubectl trainjob list -n " + key.ns +
               "` lists the existing ones" +
               (key.ns.starts_with("trainjob") ? "; what is asked for is NAMESPACE/NAME, not KIND/NAME" : "");
    return "this cluster has no TrainJobs (" + error.message + "): are the CRDs installed?";
}

std::string forbidden(const api::Error& error) {
    const auto permission = kube::missing_permission(error);
    if (!permission) return error.message;
    const std::string& verb = permission->verb;
    const bool reads = verb == "get" || verb == "list" || verb == "watch";
    const std::string role = reads ? "view" : "edit";
    const bool everywhere = error.message.find("at the cluster scope") != std::string::npos;
    return error.message + "; the role " + role + " is missing" +
           (everywhere ? " in all namespaces: bind it by a ClusterRoleBinding, or name one namespace with -n"
                       : ": an administrator binds it by `kubectl create rolebinding NAME --clusterrole=" +
                             role + " --user=USER -n NAMESPACE`");
}

}  // namespace

api::Error advised(api::Error error, const api::ObjectKey& key) {
    switch (error.code) {
        case api::Errc::unauthorized:
            error.message += ": the credentials of the kubeconfig are not accepted; have they expired?";
            break;
        case api::Errc::not_found: error.message = missing(error, key); break;
        case api::Errc::forbidden: error.message = forbidden(error); break;
        case api::Errc::unavailable:
            if (error.http_status == 0)
                error.message += "; is the cluster of the kubeconfig up, and can it be reached from here?";
            break;
        default: break;
    }
    return error;
}

}  // namespace cli
