#include "controller/reconcile/start_events.hpp"

#include "kube/client/request.hpp"
#include "lifecycle/stall.hpp"

namespace controller {
namespace {

using api::Json;

// An event has up to 1.5 KB with usual texts. Repeated events are one event, so a JobSet has few.
constexpr std::string_view most_shared = "200";
constexpr std::size_t most_shared_bytes = 512 * 1024;
constexpr std::string_view most_of_one = "100";
constexpr std::size_t most_bytes_of_one = 256 * 1024;
// One list per target at a time: a walk over many events is what they shall share.
constexpr ReadLimits limits_of_shared = {.of_one_target = 1, .in_all = 4, .shares_too_large = true};
constexpr std::string_view managed_fields_of_items[] = {"items", "[]", "metadata", "managedFields"};
constexpr api::JsonPath unused[] = {managed_fields_of_items};
// The length of an RFC 3339 time without fractions of a second.
constexpr std::size_t seconds_end = 19;

kube::Request list_warnings(const std::string& ns, const std::string& about, std::string_view most,
                            std::size_t most_bytes) {
    kube::Request request = {.target = kube::path(kube::resources::events, {ns, ""}) +
                                       "?limit=" + std::string(most) +
                                       "&fieldSelector=" + kube::percent_encode(about + ",type=Warning")};
    request.max_answer = most_bytes;
    return request;
}

// Returns the time of the last occurrence. Recorders store it in different fields.
std::string_view time_of(const Json& event) {
    std::string_view latest;
    for (const Json* time : {&event["series"]["lastObservedTime"], &event["lastTimestamp"],
                             &event["eventTime"], &event["metadata"]["creationTimestamp"]})
        latest = std::max(latest, time->as_string().substr(0, seconds_end));
    return latest;
}

struct Newest {
    std::string at;
    std::string note = {};
};

// Returns whether an event about the JobSet says that it cannot create something. Its restarts cause Warnings
// as well, of several reasons.
bool says_why(const Json& event, const api::JobSet& job_set) {
    const std::string_view reason = event["reason"].as_string();
    if (job_set.replicated_jobs.empty()) return !reason.starts_with("Restart");
    // The counts of a JobSet that waits say that the Jobs have not been created since, and nothing of others.
    return job_set.lacks_pods.empty() ? reason == "JobCreationFailed" : reason.ends_with("CreationFailed");
}

// Events about the JobSet, or about the Jobs of the replicated job that lacks its Pods.
struct Place {
    std::string shared_selector;           // has those of other JobSets, too
    std::string own_selector;              // of Jobs, those of the first one
    std::optional<std::string> jobs = {};  // the beginning of their names, before a number; none: the JobSet
};

bool is_at(const Place& place, const Json& event, const api::JobSet& job_set) {
    const Json& object = event["involvedObject"];
    if (!place.jobs) return object["uid"].as_string() == job_set.meta.uid && says_why(event, job_set);
    const std::string_view name = object["name"].as_string();
    return name.starts_with(*place.jobs) &&
           name.find_first_not_of("0123456789", place.jobs->size()) == name.npos;
}

void look_through(const Json& events, const Place& place, const api::JobSet& job_set, Newest& newest) {
    for (const Json& event : events["items"].items())
        if (const std::string_view at = time_of(event); at >= newest.at && is_at(place, event, job_set))
            newest = {std::string(at), (place.jobs ? "job " + job_set.lacks_pods + ": " : "") +
                                           std::string(event["message"].as_string())};
}

std::vector<Place> places_of(const api::JobSet& job_set) {
    std::vector<Place> places = {{"involvedObject.kind=JobSet", "involvedObject.uid=" + job_set.meta.uid}};
    if (job_set.replicated_jobs.empty() || job_set.lacks_pods.empty()) return places;
    const std::string jobs = job_set.meta.name + "-" + job_set.lacks_pods + "-";
    const std::string refused = "involvedObject.kind=Job,reason=FailedCreate";
    places.push_back({refused, refused + ",involvedObject.name=" + jobs + "0", jobs});
    return places;
}

// Returns whether the list that was looked through has all events.
kube::Async<bool> look_at_shared(kube::ApiServer& server, CoalescedReads& lists, const Place& place,
                                 const api::JobSet& job_set, Newest& newest) {
    kube::Request request =
        list_warnings(job_set.meta.ns, place.shared_selector, most_shared, most_shared_bytes);
    const auto list = co_await lists.read(server, std::move(request), unused);
    if (!list && list.error().code == api::Errc::too_large) co_return false;
    if (!list) co_return list.error();
    if (!*list) co_return false;  // the own list has the server's words
    look_through(**list, place, job_set, newest);
    co_return (**list)["metadata"]["continue"].as_string().empty();
}

kube::Async<> look_at_own(kube::ApiServer& server, const Place& place, const api::JobSet& job_set,
                          Newest& newest) {
    kube::Request request =
        list_warnings(job_set.meta.ns, place.own_selector, most_of_one, most_bytes_of_one);
    const auto list = co_await kube::fetch(server, std::move(request), unused);
    if (!list) co_return list.error();
    look_through(*list, place, job_set, newest);
    co_return api::Result<>();
}

std::string unread(const api::Error& error) {
    return std::string(lifecycle::events_unread) + api::describe(error);
}

}  // namespace

StartEvents::StartEvents(kube::ApiServer& server) : server_(&server), shared_(limits_of_shared) {}

kube::Task<std::string> StartEvents::newest(kube::ApiServer& own, const View& view, api::Time now) {
    const api::JobSet& job_set = *view.observed.job_set;
    Newest newest = {api::format_time(lifecycle::events_since(view.observed, now)).substr(0, seconds_end)};
    for (const Place& place : places_of(job_set)) {
        const auto is_complete = co_await look_at_shared(*server_, shared_, place, job_set, newest);
        if (!is_complete) co_return unread(is_complete.error());
        if (*is_complete) continue;
        const auto looked = co_await look_at_own(own, place, job_set, newest);
        if (!looked) co_return unread(looked.error());
    }
    co_return std::move(newest.note);
}

}  // namespace controller
