#include "kube/without_object.hpp"

namespace kube {
namespace {

constexpr std::string_view spec[] = {"spec"};
constexpr std::string_view status[] = {"status"};
constexpr std::string_view managed_fields[] = {"metadata", "managedFields"};
// Of a Table.
constexpr std::string_view columns[] = {"columnDefinitions"};
constexpr std::string_view rows[] = {"rows"};
constexpr api::JsonPath all_but_metadata[] = {spec, status, managed_fields, columns, rows};

}  // namespace

Request without_object(Request request) {
    request.target += request.target.find('?') == std::string::npos ? '?' : '&';
    request.target += "includeObject=None";
    request.accept = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";
    return request;
}

std::string version_of(const Response& response) {
    const auto answer = api::parse_json_without(response.body, all_but_metadata);
    return answer ? std::string((*answer)["metadata"]["resourceVersion"].as_string()) : std::string();
}

}  // namespace kube
