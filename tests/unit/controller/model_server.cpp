#include "model_server.hpp"

#include <stdexcept>

#include "wire.hpp"

using api::Json;

kube::Async<kube::Response> ModelServer::send(kube::Request request) {
    kube::Request bare = request;
    bare.target = request.target.substr(0, request.target.find('?'));
    const bool stores = request.method != "GET" && request.target.find("dryRun=All") == std::string::npos;
    if (stores) writes_.push_back(request.method + " " + bare.target);
    if (watch_requests)
        if (const auto refused = watch_requests(request)) co_return *refused;
    const auto& refusal = request.method == "GET" ? refuse_read : refuse;
    if (refusal && (stores || request.method == "GET"))
        if (const auto refused = refusal(bare)) co_return *refused;
    if (change_request) change_request(request);
    model_.mutate_create = mutate_create;
    model_.admit_create = admit_create;
    auto answer = model::to_result(model_.handle(request), request);
    if (answer) answer->date = date();
    co_return answer;
}

kube::Async<std::unique_ptr<kube::Watch>> ModelServer::watch(kube::Request) {
    co_return api::Error{.code = api::Errc::internal, .message = "caches are filled by show()"};
}

void ModelServer::as_user(const std::string& method, const std::string& target, const Json& body) {
    handle({.method = method, .target = target, .body = to_json(body)});
}

void ModelServer::handle(const kube::Request& request) {
    const model::Reply reply = model_.handle(request, "kubectl-edit");
    if (!reply.ok()) throw std::runtime_error(request.method + " " + request.target + ": " + reply.body);
}

void ModelServer::put(const kube::Resource& resource, Json object) {
    const api::ObjectKey key = api::parse_meta(object).key();
    const std::string target = kube::path(resource, key);
    const auto version_of = [&] { return (*find(resource, key))["metadata"]["resourceVersion"]; };
    const Json status = std::as_const(object)["status"];
    Json& metadata = object["metadata"];
    for (const char* name : {"uid", "resourceVersion"}) metadata.erase(name);
    if (!find(resource, key)) {
        as_user("POST", kube::path(resource, {key.ns, ""}), object);
    } else {
        metadata["resourceVersion"] = version_of();
        as_user("PUT", target, object);
    }
    const Json* stored = find(resource, key);
    if (!stored || status.is_null() || (*stored)["status"] == status) return;
    object["metadata"]["resourceVersion"] = version_of();
    as_user("PUT", target + "/status", object);
}

void ModelServer::edit(const kube::Resource& resource, const api::ObjectKey& key,
                       const std::function<void(Json&)>& change) {
    const Json* stored = find(resource, key);
    if (!stored) throw std::runtime_error(kube::path(resource, key) + " does not exist");
    Json object = *stored;
    change(object);
    put(resource, std::move(object));
}

void ModelServer::ask_to_delete(const kube::Resource& resource, const api::ObjectKey& key) {
    as_user("DELETE", kube::path(resource, key), Json::object({{"propagationPolicy", "Background"}}));
}

void ModelServer::erase(const kube::Resource& resource, const api::ObjectKey& key) {
    edit(resource, key, [](Json& object) { object["metadata"].erase("finalizers"); });
    if (find(resource, key)) ask_to_delete(resource, key);
}

void ModelServer::apply(const kube::Resource& resource, Json object) {
    for (const char* name : {"uid", "resourceVersion"}) object["metadata"].erase(name);
    handle(kube::apply(resource, object, kube::Unconditional(), true));
}

void ModelServer::collect_garbage() {
    for (const auto& resource : {kube::resources::job_sets, kube::resources::train_jobs}) {
        std::vector<api::ObjectKey> going;
        for (const auto& [key, stored] : model_.all(kube::to_string(resource)))
            if (stored.object["metadata"]["finalizers"] == Json::array({"foregroundDeletion"}))
                going.push_back(key);
        for (const api::ObjectKey& key : going) erase(resource, key);
    }
}

void ModelServer::restore(const kube::Resource& resource, Json object) {
    model_.restore(kube::to_string(resource), std::move(object));
}

const Json* ModelServer::find(const kube::Resource& resource, const api::ObjectKey& key) const {
    const model::Stored* stored = model_.find(kube::to_string(resource), key);
    return stored ? &stored->object : nullptr;
}

void ModelServer::show(controller::Cache& cache, std::string_view only) {
    show(kube::resources::train_jobs, cache.train_jobs().partitions(), only);
    show(kube::resources::job_sets, cache.job_sets().partitions(), only);
    show(kube::resources::training_runtimes, cache.training_runtimes().partitions(), only);
    show(kube::resources::cluster_training_runtimes, cache.cluster_training_runtimes().partitions(), only);
    for (const controller::Cache::OwnedKind& kind : cache.owned_kinds())
        show(kind.resource, kind.objects->partitions(), only);
}

void ModelServer::show(const kube::Resource& resource, const std::vector<kube::Partition>& partitions,
                       std::string_view only) {
    for (const auto& [ns, sink] : partitions) {
        if (!ns.empty() && !kube::covers(only, ns)) continue;
        sink.begin_replace();
        for (const auto& [key, stored] : model_.all(kube::to_string(resource)))
            if (kube::covers(ns, key.ns))
                sink.upsert(key, stored.version(), api::parse_json(*stored.text).value(),
                            stored.text->size());
        sink.end_replace(std::to_string(model_.version()));
    }
}
