#include "controller/reconcile/namespace_warnings.hpp"

#include <algorithm>
#include <numeric>

#include "kube/client/request.hpp"

namespace controller {
namespace {

using api::Json;

constexpr std::chrono::seconds lasts{10};
constexpr std::size_t most_being_read = 4;
constexpr std::size_t most_kept = 4 * 1024 * 1024;
// Of one list. An event has up to 1.5 KB with usual texts. Repeated events are one event.
constexpr std::size_t most_bytes = 512 * 1024;
constexpr std::string_view managed_fields_of_items[] = {"items", "[]", "metadata", "managedFields"};
constexpr api::JsonPath unused[] = {managed_fields_of_items};

// The API server keeps no events in its watch cache, so each list is a walk over those that etcd has of the
// namespace, whatever it selects and whatever its resourceVersion. What it selects is what the API server
// encodes and sends, and what the limit leaves room for. Most Warnings are about Pods, and explain nothing
// here.
kube::Request list_warnings(const std::string& ns) {
    kube::Request request = {.target = kube::path(kube::resources::events, {ns, ""}) +
                                       "?limit=200&fieldSelector=" +
                                       kube::percent_encode("type=Warning,involvedObject.kind!=Pod")};
    request.max_answer = most_bytes;
    return request;
}

// Returns the time of the last occurrence. Recorders store it in different fields.
std::optional<api::Time> time_of(const Json& event) {
    std::optional<api::Time> latest;
    for (const Json* time : {&event["series"]["lastObservedTime"], &event["lastTimestamp"],
                             &event["eventTime"], &event["metadata"]["creationTimestamp"]})
        latest = std::max(latest, api::as_time(time->as_string()));
    return latest;
}

NamespaceWarnings::List warnings_in(const Json& answer) {
    NamespaceWarnings::List list;
    for (const Json& event : answer["items"].items()) {
        const Json& object = event["involvedObject"];
        const std::string_view kind = object["kind"].as_string();
        const auto last = time_of(event);
        if (!last || (kind != "JobSet" && kind != "Job")) continue;
        list.push_back({.kind = std::string(kind),
                        .name = std::string(object["name"].as_string()),
                        .uid = std::string(object["uid"].as_string()),
                        .reason = std::string(event["reason"].as_string()),
                        .message = std::string(event["message"].as_string()),
                        .last = *last});
    }
    return list;
}

std::size_t bytes_of(const NamespaceWarnings::List& list) {
    return std::accumulate(list.begin(), list.end(), std::size_t{0}, [](std::size_t sum, const auto& each) {
        return sum + sizeof each + each.name.size() + each.uid.size() + each.reason.size() +
               each.message.size();
    });
}

}  // namespace

void NamespaceWarnings::forget_old(api::Time now) {
    std::erase_if(entries_, [now](const auto& each) {
        const Entry& entry = each.second;
        return entry.list ? std::chrono::abs(now - entry.asked) >= lasts : entry.being_read.expired();
    });
}

kube::Task<std::shared_ptr<const NamespaceWarnings::List>> NamespaceWarnings::read(std::string ns,
                                                                                   api::Time now) {
    forget_old(now);
    if (const auto at = entries_.find(ns); at != entries_.end()) co_return at->second.list;
    const auto is_being_read = [](const auto& each) { return !each.second.list; };
    if (std::count_if(entries_.begin(), entries_.end(), is_being_read) == most_being_read) co_return nullptr;

    const auto list = std::make_shared<List>();
    entries_[ns] = {.being_read = list};
    kube::Request request = list_warnings(ns);
    const auto answer = co_await kube::fetch(server_, std::move(request), unused);
    if (answer) *list = warnings_in(*answer);
    entries_[ns] = {.list = list, .bytes = bytes_of(*list), .asked = now};

    const auto more = [](std::size_t sum, const auto& each) { return sum + each.second.bytes; };
    if (std::accumulate(entries_.begin(), entries_.end(), std::size_t{0}, more) > most_kept)
        std::erase_if(entries_, [](const auto& each) { return each.second.list != nullptr; });
    co_return list;
}

}  // namespace controller
