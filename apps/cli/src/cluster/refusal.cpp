#include "cluster/refusal.hpp"

#include "api/names.hpp"
#include "kube/client/status.hpp"

namespace cli {
namespace {

bool names(const api::Error& error, const std::string& name) {
    return !name.empty() && error.message.find('"' + name + '"') != std::string::npos;
}

// Users of kubectl write tj/night.
std::string hint_at_kind(const api::ObjectKey& key) {
    const bool is_kind = key.ns == "tj" || key.ns.starts_with("trainjob");
    return is_kind ? "; what is asked for is NAMESPACE/NAME, not KIND/NAME" : "";
}

// Without the name, the missing object is not the TrainJob but its kind.
std::string missing(const api::Error& error, const api::ObjectKey& key) {
    if (names(error, key.name))
        return "there is no TrainJob " + to_string(key) + "; `kubectl trainjob list -n " + key.ns +
               "` lists the existing ones" + hint_at_kind(key);
    return "this cluster has no TrainJobs (" + error.message + "): are the CRDs installed?";
}

// The program knows one version of the API.
std::string other_version(const std::string& versions) {
    const std::string known(kube::resources::train_jobs.version);
    const std::string group(api::trainer_group);
    if (versions == known)
        return "this cluster has " + group + "/" + known + " without TrainJobs: are all CRDs installed?";
    return "this cluster has TrainJobs of " + group + "/" + versions + ", and this program knows " + known +
           ": install the kubectl trainjob of the release that is in the cluster";
}

// Returns the versions of a group with commas; empty: the cluster lacks the group, or does not say.
kube::Task<std::string> versions_of(kube::ApiServer& server, std::string group) {
    kube::Request request = {.target = "/apis/" + group};
    const auto found = co_await kube::fetch(server, std::move(request));
    std::string text;
    if (!found) co_return text;
    for (const api::Json& each : (*found)["versions"].items())
        text.append(text.empty() ? "" : ", ").append(each["version"].as_string());
    co_return text;
}

bool has(const api::Error& error, std::string_view text) {
    return error.message.find(text) != std::string::npos;
}

std::string unreachable(const api::Error& error) {
    if (has(error, "mismatch"))
        return "; its certificate is for other names: does the kubeconfig have the right server or "
               "tls-server-name?";
    if (has(error, "certificate has expired")) return "; the cluster's administrator has to renew it";
    if (has(error, "certificate not trusted"))
        return "; does the kubeconfig have the certificate-authority of this cluster?";
    return "; is the cluster of the kubeconfig up, and can it be reached from here?";
}

std::string forbidden(const api::Error& error, const api::ObjectKey& key) {
    const auto permission = kube::missing_permission(error);
    if (!permission) return error.message;
    if (const std::string hint = hint_at_kind(key); !hint.empty()) return error.message + hint;
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
        case api::Errc::forbidden: error.message = forbidden(error, key); break;
        case api::Errc::unavailable:
            if (error.http_status == 0) error.message += unreachable(error);
            break;
        default: break;
    }
    return error;
}

kube::Task<api::Error> advised_by(kube::ApiServer& server, api::Error error, api::ObjectKey key) {
    if (error.code != api::Errc::not_found || names(error, key.name))
        co_return advised(std::move(error), key);
    const std::string versions = co_await versions_of(server, std::string(api::trainer_group));
    if (!versions.empty()) {
        error.message = other_version(versions);
        co_return error;
    }
    const std::string before = co_await versions_of(server, "kubeflow.org");
    error = advised(std::move(error), key);
    if (!before.empty())
        error.message += " It has kubeflow.org/" + before +
                         " of Kubeflow's Training Operator, whose jobs are of other kinds";
    co_return error;
}

}  // namespace cli
