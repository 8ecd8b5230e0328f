#include "kube/client/without_object.hpp"

namespace kube {
namespace {

constexpr std::string_view resource_version[] = {"metadata", "resourceVersion"};

}  // namespace

Request without_object(Request request) {
    request.target += request.target.find('?') == std::string::npos ? '?' : '&';
    request.target += "includeObject=None";
    request.accept = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";
    return request;
}

std::string version_of(const Response& response) { return api::find_string(response.body, resource_version); }

}  // namespace kube
