#include "offline/document_server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <exception>

#include "api/meta.hpp"
#include "merge/merge_patch.hpp"

namespace offline {
namespace {

using api::Json;

constexpr std::string_view status_suffix = "/status";
constexpr std::string_view apply_type = "application/apply-patch+yaml";

api::Error refused(int status, api::Errc code, const char* reason, const std::string& path) {
    return {.code = code, .message = path + ": " + reason, .reason = reason, .http_status = status};
}

bool differs(const Json& wanted, const Json& actual) {
    return wanted.is_string() && wanted.as_string() != actual.as_string();
}

Json without_preconditions(Json object) {
    for (const char* name : {"uid", "resourceVersion"}) object["metadata"].erase(name);
    return object;
}

}  // namespace

void DocumentServer::put(const kube::Resource& resource, Json object) {
    objects_[kube::path(resource, api::parse_meta(object).key())] = std::move(object);
}

const Json* DocumentServer::find(const kube::Resource& resource, const api::ObjectKey& key) const {
    const auto at = objects_.find(kube::path(resource, key));
    return at == objects_.end() ? nullptr : &at->second;
}

void DocumentServer::show(const kube::Resource& resource,
                          const std::vector<kube::Partition>& partitions) const {
    const std::string version = std::to_string(version_);
    for (const auto& [ns, sink] : partitions) {
        sink.begin_replace();
        for (const auto& [path, object] : objects_) {
            const api::ObjectMeta meta = api::parse_meta(object);
            if (kube::path(resource, meta.key()) != path || !kube::covers(ns, meta.ns)) continue;
            Json shown = object;
            // The store identifies objects by their uid.
            if (meta.uid.empty()) shown["metadata"]["uid"] = path;
            // Later writes have the version as their precondition.
            const std::string& seen = meta.resource_version.empty() ? version : meta.resource_version;
            sink.upsert(meta.key(), seen, std::move(shown));
        }
        sink.end_replace(version);
    }
}

kube::Async<kube::Response> DocumentServer::send(kube::Request request) {
    // Nothing here refuses an object for what it is.
    if (request.target.find("dryRun=All") != request.target.npos) co_return kube::Response{200, request.body};
    request.target = request.target.substr(0, request.target.find('?'));
    co_return answer(request);
}

kube::Async<std::unique_ptr<kube::Watch>> DocumentServer::watch(kube::Request request) {
    co_return refused(405, api::Errc::internal, "MethodNotAllowed", request.target);
}

api::Result<kube::Response> DocumentServer::answer(const kube::Request& request) {
    const std::string& method = request.method;
    Json body;
    if (!request.body.empty()) {
        auto parsed = api::parse_json(request.body);
        if (!parsed) return parsed.error();
        body = std::move(*parsed);
    }
    if (method == "POST") {
        if (std::as_const(body)["kind"].as_string() == "Event") {
            events_.push_back(std::move(body));
            return kube::Response{201, "{}"};
        }
        const std::string path = request.target + "/" + kube::percent_encode(api::parse_meta(body).name);
        return create(path, std::move(body));
    }
    std::string path = request.target;
    const bool is_status = path.ends_with(status_suffix);
    if (is_status) path.resize(path.size() - status_suffix.size());
    const bool is_apply = method == "PATCH" && request.content_type == apply_type;
    const auto at = objects_.find(path);
    if (at == objects_.end()) {
        if (is_apply) return create(path, std::move(body));
        const bool is_collection = kube::resource_of(path) == kube::resource_of(path + "/x");
        if (method == "GET" && is_collection) return list(path);
        return refused(404, api::Errc::not_found, "NotFound", path);
    }
    if (method == "GET") return kube::Response{200, to_json(at->second)};
    if (method == "PATCH") return patch(path, body, is_apply);
    if (method == "PUT") {
        written_.push_back(without_preconditions(body));
        return store(path, 200, std::move(body));
    }
    if (method != "DELETE") return refused(405, api::Errc::internal, "MethodNotAllowed", path);
    objects_.erase(at);
    return kube::Response{200, R"({"kind":"Status","status":"Success"})"};
}

api::Result<kube::Response> DocumentServer::list(const std::string& path) const {
    Json items = Json::array();
    const std::string prefix = path + "/";
    for (auto at = objects_.lower_bound(prefix); at != objects_.end() && at->first.starts_with(prefix); ++at)
        if (at->first.find('/', prefix.size()) == std::string::npos) items.push_back(at->second);
    return kube::Response{200, to_json(Json::object({{"items", std::move(items)}}))};
}

api::Result<kube::Response> DocumentServer::create(const std::string& path, Json object) {
    if (objects_.contains(path)) return refused(409, api::Errc::conflict, "AlreadyExists", path);
    object = without_preconditions(std::move(object));
    written_.push_back(object);
    return store(path, 201, std::move(object));
}

api::Result<kube::Response> DocumentServer::patch(const std::string& path, const Json& change,
                                                  bool is_apply) {
    Json object = objects_[path];
    const Json& seen = change["metadata"];
    const Json& actual = std::as_const(object)["metadata"];
    if (differs(seen["uid"], actual["uid"]) || differs(seen["resourceVersion"], actual["resourceVersion"]))
        return refused(409, api::Errc::conflict, "Conflict", path);
    if (is_apply) written_.push_back(without_preconditions(change));
    merge::merge_patch(object, change);
    return store(path, 200, std::move(object));
}

api::Result<kube::Response> DocumentServer::store(const std::string& path, int status, Json object) {
    Json& metadata = object["metadata"];
    if (!metadata.contains("uid")) metadata["uid"] = path;
    metadata["resourceVersion"] = std::to_string(++version_);
    std::string text = to_json(object);
    objects_[path] = std::move(object);
    return kube::Response{status, std::move(text)};
}

void run_to_end(boost::asio::io_context& context, net::Task<> task) {
    std::exception_ptr thrown;
    boost::asio::co_spawn(context, std::move(task), [&](std::exception_ptr error) { thrown = error; });
    context.restart();
    context.run();
    if (thrown) std::rethrow_exception(thrown);
}

}  // namespace offline
