#include "controller/reconcile/observe.hpp"

#include "kube/client/request.hpp"
#include "lifecycle/stall.hpp"

namespace controller {
namespace {

using api::Json;

// Enough events for a list, since repeated ones are one event.
constexpr const char* most = "100";
constexpr std::size_t most_bytes = 256 * 1024;
// The length of an RFC 3339 time without fractions of a second.
constexpr std::size_t seconds_end = 19;

kube::Request list_warnings(const std::string& ns, const std::string& about) {
    kube::Request request = {.target = kube::path(kube::resources::events, {ns, ""}) + "?limit=" + most +
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

// Events about the JobSet, or about Jobs whose name is the prefix and a number.
struct Place {
    std::string selector;
    std::optional<std::string> job_prefix = {};  // none: about the JobSet; empty: about any selected Job
};

bool is_at(const Place& place, const Json& event, const api::JobSet& job_set) {
    if (!place.job_prefix) return says_why(event, job_set);
    const std::string& prefix = *place.job_prefix;
    const std::string_view name = event["involvedObject"]["name"].as_string();
    return name.starts_with(prefix) &&
           (prefix.empty() || name.find_first_not_of("0123456789", prefix.size()) == name.npos);
}

void look_through(const Json& events, const Place& place, const api::JobSet& job_set, Newest& newest) {
    for (const Json& event : events.items())
        if (const std::string_view at = time_of(event); at >= newest.at && is_at(place, event, job_set))
            newest = {std::string(at), (place.job_prefix ? "job " + job_set.lacks_pods + ": " : "") +
                                           std::string(event["message"].as_string())};
}

// The first Job is asked for by its name: in a namespace without quota there may be more events of Jobs than
// a list may have.
std::vector<Place> places_of(const api::JobSet& job_set) {
    std::vector<Place> places = {{"involvedObject.uid=" + job_set.meta.uid}};
    if (job_set.replicated_jobs.empty() || job_set.lacks_pods.empty()) return places;
    const std::string jobs = job_set.meta.name + "-" + job_set.lacks_pods + "-";
    places.push_back({"involvedObject.kind=Job,reason=FailedCreate,involvedObject.name=" + jobs + "0", ""});
    places.push_back({"involvedObject.kind=Job,reason=FailedCreate", jobs});
    return places;
}

}  // namespace

kube::Async<std::string> start_events(kube::ApiServer& server, const View& view, api::Time now) {
    const api::JobSet& job_set = *view.observed.job_set;
    Newest newest = {api::format_time(lifecycle::events_since(view.observed, now)).substr(0, seconds_end)};
    for (const Place& place : places_of(job_set)) {
        const bool is_about_many = place.job_prefix && !place.job_prefix->empty();
        if (is_about_many && !newest.note.empty()) break;
        kube::Request request = list_warnings(job_set.meta.ns, place.selector);
        const auto events = co_await kube::fetch(server, std::move(request));
        if (!events) co_return std::string(lifecycle::events_unread) + api::describe(events.error());
        look_through((*events)["items"], place, job_set, newest);
    }
    co_return std::move(newest.note);
}

}  // namespace controller
