#include "kube/client/api_server.hpp"

namespace kube {
namespace {

constexpr std::string_view resource_version[] = {"metadata", "resourceVersion"};

}  // namespace

Async<api::Json> fetch(ApiServer& server, Request request, api::JsonPaths omit) {
    const std::string what = request.method + " " + request.target;
    const auto response = co_await server.send(std::move(request));
    if (!response) co_return response.error();
    auto object = api::parse_json_without(response->body, omit);
    if (!object) {
        co_return api::Error{
            .code = api::Errc::internal,
            .message = "the API server's answer to " + what + " is " + object.error().message,
            .http_status = response->status};
    }
    co_return std::move(*object);
}

Request without_object(Request request) {
    request.target += request.target.find('?') == std::string::npos ? '?' : '&';
    request.target += "includeObject=None";
    request.accept = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";
    return request;
}

std::string version_of(const Response& response) { return api::find_string(response.body, resource_version); }

}  // namespace kube
