#include "kube/client/api_server.hpp"

namespace kube {

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

}  // namespace kube
