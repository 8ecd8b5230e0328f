#include "kube/watch/watch_decoder.hpp"

#include "kube/client/status.hpp"

namespace kube {
namespace {

api::Error broken(std::string what) { return {.code = api::Errc::invalid, .message = std::move(what)}; }

// managedFields are half of most objects, and only the API server needs them.
constexpr std::string_view managed_fields[] = {"object", "metadata", "managedFields"};

// Returns the start of an unexpected text, for an error.
std::string excerpt(std::string_view text) { return std::string(text.substr(0, 80)); }

}  // namespace

api::Result<WatchEvent> decode_watch_line(std::string_view line, api::JsonPaths omit) {
    std::vector<api::JsonPath> unwanted(omit.begin(), omit.end());
    unwanted.emplace_back(managed_fields);
    auto parsed = api::parse_json_without(line, unwanted);
    if (!parsed) return broken("a watch sent a line that is " + parsed.error().message);
    const std::string_view type = std::as_const(*parsed)["type"].as_string();
    api::Json* object = parsed->find("object");
    if (!object || !object->is_object()) return broken("a watch sent an event without an object");

    WatchEvent event;
    if (type == "ERROR") {
        event.type = WatchEvent::Type::error;
        event.error = error_from_status(*object);
        return event;
    }
    const api::Json& metadata = std::as_const(*object)["metadata"];
    event.resource_version = metadata["resourceVersion"].as_string();
    if (event.resource_version.empty()) return broken("a watch sent an object without a resourceVersion");
    if (type == "BOOKMARK") {
        event.initial_events_end = metadata["annotations"]["k8s.io/initial-events-end"].as_string() == "true";
        return event;
    }
    if (type == "ADDED" || type == "MODIFIED")
        event.type = WatchEvent::Type::upsert;
    else if (type == "DELETED")
        event.type = WatchEvent::Type::removed;
    else
        return broken("a watch sent an event of unknown type \"" + excerpt(type) + "\"");
    event.key = {std::string(metadata["namespace"].as_string()), std::string(metadata["name"].as_string())};
    if (event.key.name.empty()) return broken("a watch sent an object without a name");
    event.object = std::move(*object);
    return event;
}

api::Result<ListPage> decode_list_page(std::string_view body) {
    auto parsed = api::parse_json(body);
    if (!parsed) return broken("a list is " + parsed.error().message);
    const api::Json& metadata = std::as_const(*parsed)["metadata"];
    ListPage page = {.resource_version = std::string(metadata["resourceVersion"].as_string()),
                     .next = std::string(metadata["continue"].as_string())};
    if (page.resource_version.empty()) return broken("a list came without a resourceVersion");
    if (api::Json* items = parsed->find("items"); items && items->is_array())
        page.items = std::move(items->items());
    return page;
}

}  // namespace kube
