#include "memory_api_server.hpp"

#include <catch2/catch.hpp>

#include "support/merge_patch.hpp"

using api::Json;

namespace {

api::Error status(int code, api::Errc errc, const std::string& reason) {
    return {.code = errc, .message = reason, .reason = reason, .http_status = code};
}

bool mismatch(const Json& wanted, const Json& actual) {
    return wanted.is_string() && wanted.as_string() != actual.as_string();
}

}  // namespace

kube::Async<kube::Response> MemoryApiServer::send(kube::Request request) {
    request.target = request.target.substr(0, request.target.find('?'));
    if (request.method != "GET") {
        writes_.push_back(request.method + " " + request.target);
        if (refuse)
            if (const auto refused = refuse(request)) co_return *refused;
    } else if (refuse_read) {
        if (const auto refused = refuse_read(request)) co_return *refused;
    }
    auto answered = answer(request);
    // As a Table: of the object, the resource version only.
    if (answered && request.accept.find("as=Table") != std::string::npos) {
        const Json object = api::parse_json(answered->body).value();
        answered->body = to_json(Json::object(
            {{"kind", "Table"},
             {"metadata", Json::object({{"resourceVersion", object["metadata"]["resourceVersion"]}})},
             {"rows", Json::array()}}));
    }
    co_return answered;
}

kube::Async<std::unique_ptr<kube::Watch>> MemoryApiServer::watch(kube::Request) {
    co_return api::Error{.code = api::Errc::internal, .message = "caches are filled by show()"};
}

api::Result<kube::Response> MemoryApiServer::answer(const kube::Request& request) {
    const Json body = request.body.empty() ? Json() : api::parse_json(request.body).value();
    if (request.method == "POST")
        return create(request.target + "/" + std::string(body["metadata"]["name"].as_string()), body);
    std::string path = request.target;
    if (path.ends_with("/status")) path.resize(path.size() - std::string_view("/status").size());
    if (!objects_.contains(path)) {
        if (request.method == "PATCH" && request.content_type == "application/apply-patch+yaml")
            return create(path, body);
        return status(404, api::Errc::not_found, "NotFound");
    }
    if (request.method == "GET") return kube::Response{200, to_json(objects_[path])};
    if (request.method == "PATCH" && body["metadata"]["resourceVersion"].as_string() == "0")
        return status(422, api::Errc::conflict, "Invalid");
    if (request.method == "PATCH") return change(path, body);
    if (request.method == "PUT") return replace(path, body);
    if (request.method == "DELETE") return remove(path, body["preconditions"]);
    return status(405, api::Errc::internal, "MethodNotAllowed");
}

api::Result<kube::Response> MemoryApiServer::create(const std::string& path, Json object) {
    if (objects_.contains(path)) return status(409, api::Errc::conflict, "AlreadyExists");
    Json& metadata = object["metadata"];
    metadata["uid"] = "uid-" + std::to_string(++version_);
    metadata["resourceVersion"] = std::to_string(version_);
    metadata["creationTimestamp"] = api::format_time(now);
    metadata["generation"] = 1;
    objects_[path] = object;
    return kube::Response{201, to_json(object)};
}

api::Result<kube::Response> MemoryApiServer::change(const std::string& path, const Json& patch) {
    Json wanted = objects_[path];
    merge_into(wanted, patch);
    return replace(path, std::move(wanted));
}

api::Result<kube::Response> MemoryApiServer::replace(const std::string& path, Json wanted) {
    Json& stored = objects_[path];
    const Json& seen = std::as_const(wanted)["metadata"];
    if (mismatch(seen["uid"], stored["metadata"]["uid"]) ||
        mismatch(seen["resourceVersion"], stored["metadata"]["resourceVersion"]))
        return status(409, api::Errc::conflict, "Conflict");
    const Json spec = std::as_const(stored)["spec"];
    stored = std::move(wanted);
    if (std::as_const(stored)["spec"] != spec)
        stored["metadata"]["generation"] = std::as_const(stored)["metadata"]["generation"].int_or(0) + 1;
    stored["metadata"]["resourceVersion"] = std::to_string(++version_);
    return kube::Response{200, to_json(stored)};
}

api::Result<kube::Response> MemoryApiServer::remove(const std::string& path, const Json& preconditions) {
    const Json& metadata = std::as_const(objects_[path])["metadata"];
    if (mismatch(preconditions["uid"], metadata["uid"]) ||
        mismatch(preconditions["resourceVersion"], metadata["resourceVersion"]))
        return status(409, api::Errc::conflict, "Conflict");
    objects_.erase(path);
    return kube::Response{200, R"({"kind":"Status","status":"Success"})"};
}

void MemoryApiServer::put(const kube::Resource& resource, Json object) {
    Json& metadata = object["metadata"];
    if (!metadata.contains("uid")) metadata["uid"] = "uid-" + std::to_string(++version_);
    if (!metadata.contains("creationTimestamp")) metadata["creationTimestamp"] = api::format_time(now);
    metadata["resourceVersion"] = std::to_string(++version_);
    objects_[kube::path(resource, api::parse_meta(object).key())] = std::move(object);
}

Json* MemoryApiServer::find(const kube::Resource& resource, const api::ObjectKey& key) {
    const auto at = objects_.find(kube::path(resource, key));
    return at == objects_.end() ? nullptr : &at->second;
}

void MemoryApiServer::erase(const kube::Resource& resource, const api::ObjectKey& key) {
    objects_.erase(kube::path(resource, key));
}

void MemoryApiServer::show(reconciler::Caches& caches, std::string_view only) {
    show(kube::resources::train_jobs, caches.train_jobs().sections(), only);
    show(kube::resources::job_sets, caches.job_sets().sections(), only);
    show(kube::resources::training_runtimes, caches.training_runtimes().sections(), only);
    show(kube::resources::cluster_training_runtimes, caches.cluster_training_runtimes().sections(), only);
}

void MemoryApiServer::show(const kube::Resource& resource, const std::vector<kube::Section>& sections,
                           std::string_view only) {
    for (const auto& [ns, sink] : sections) {
        if (!ns.empty() && !kube::covers(only, ns)) continue;
        sink.listing();
        for (const auto& [path, object] : objects_) {
            const api::ObjectMeta meta = api::parse_meta(object);
            if (kube::path(resource, meta.key()) == path && kube::covers(ns, meta.ns))
                sink.upsert(meta.key(), meta.resource_version, object);
        }
        sink.synced(std::to_string(version_));
    }
}
