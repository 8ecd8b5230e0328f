#include "wire.hpp"

#include "kube/client/status.hpp"

namespace model {
namespace {

std::string as_table(const std::string& body) {
    const api::Json object = api::parse_json(body).value();
    return to_json(api::Json::object(
        {{"kind", "Table"},
         {"metadata", api::Json::object({{"resourceVersion", object["metadata"]["resourceVersion"]}})},
         {"rows", api::Json::array()}}));
}

}  // namespace

api::Result<kube::Response> to_result(Reply reply, const kube::Request& request) {
    if (reply.ok()) {
        if (request.accept.find("as=Table") != std::string::npos) reply.body = as_table(reply.body);
        return kube::Response{reply.status, std::move(reply.body)};
    }
    net::HttpResponse response;
    response.status = static_cast<unsigned>(reply.status);
    response.body = std::move(reply.body);
    if (reply.retry_after > 0)
        response.headers.emplace_back("Retry-After", std::to_string(reply.retry_after));
    return kube::error_from(response);
}

}  // namespace model
