#include "cluster/lists.hpp"

#include <functional>

namespace cli {
namespace {

constexpr std::string_view page_size = "500";

}  // namespace

kube::Async<ListPage> read_page(kube::ApiServer& server, ListQuery query, std::string next) {
    kube::Request request;
    request.target = kube::path(query.resource, {query.ns, ""}) + "?limit=" + std::string(page_size);
    const auto add = [&request](const char* name, const std::string& value) {
        if (!value.empty()) request.target.append(name).append(kube::percent_encode(value));
    };
    add("&labelSelector=", query.labels);
    add("&fieldSelector=", query.fields);
    add("&continue=", next);
    auto body = co_await kube::fetch(server, std::move(request));
    if (!body) co_return body.error();
    ListPage page;
    page.next = std::as_const(*body)["metadata"]["continue"].as_string();
    if (api::Json* items = body->find("items"); items && items->is_array())
        page.items = std::move(items->items());
    co_return std::move(page);
}

kube::Async<std::vector<api::Json>> read_objects(kube::ApiServer& server, ListQuery query) {
    return read_list<api::Json>(server, std::move(query), std::identity());
}

}  // namespace cli
