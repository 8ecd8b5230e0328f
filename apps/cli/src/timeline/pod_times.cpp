#include "timeline/pod_times.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "api/job_set_names.hpp"
#include "job/findings.hpp"
#include "job/pods.hpp"

namespace cli {
namespace {

using api::Json;

// An attempt that has lasted this long has not failed at its start.
constexpr std::chrono::minutes lasting{5};

Moment later(const Moment& a, const Moment& b) { return a && b ? std::max(a, b) : a ? a : b; }

// The cluster folds equal events: the first one is that of the first attempt.
Moment first_time(const Json& event) {
    for (const Json* text : {&event["firstTimestamp"], &event["eventTime"]})
        if (const Moment time = time_of(*text)) return time;
    return time_of_event(event);
}

// The image in `Pulling image "x"` and `Successfully pulled image "x" in 14s`.
std::string_view quoted(std::string_view message) {
    const std::size_t begin = message.find('"');
    if (begin == std::string_view::npos) return "";
    message.remove_prefix(begin + 1);
    return message.substr(0, message.find('"'));
}

// What events say of one Pod.
struct PodEvents {
    Moment scheduled = {};
    Moment pulled = {};
    Moment started = {};
    Moment again = {};
    std::map<std::string_view, api::Time> pulls = {};  // their beginnings, by image
    std::set<std::string_view> pulled_images = {};
};

using EventsByPod = std::map<std::string_view, PodEvents>;

void note(const Json& event, PodEvents& events) {
    const std::string_view reason = event["reason"].as_string();
    const Moment first = first_time(event);
    if (!first) return;
    if (reason == "Scheduled") events.scheduled = later(events.scheduled, first);
    if (reason == "Pulling") events.pulls.emplace(quoted(event["message"].as_string()), *first);
    if (reason != "Started") return;
    events.started = later(events.started, first);
    const bool is_repeated = event["count"].int_or(1) > 1 || event["series"]["count"].int_or(1) > 1;
    if (is_repeated) events.again = later(events.again, time_of_event(event));
}

EventsByPod events_by_pod(const std::vector<Json>& all) {
    EventsByPod pods;
    const auto is_of_pod = [](const Json& event) {
        return event["involvedObject"]["kind"].as_string() == "Pod";
    };
    for (const Json& event : all)
        if (is_of_pod(event)) note(event, pods[event["involvedObject"]["name"].as_string()]);
    for (const Json& event : all) {
        if (!is_of_pod(event) || event["reason"].as_string() != "Pulled") continue;
        PodEvents& events = pods[event["involvedObject"]["name"].as_string()];
        const auto begun = events.pulls.find(quoted(event["message"].as_string()));
        const Moment first = first_time(event);
        if (begun == events.pulls.end() || !first || *first < begun->second) continue;
        events.pulled = later(events.pulled, first);
        events.pulled_images.insert(begun->first);
    }
    return pods;
}

void note_containers(const Json& pod, PodTimes& times) {
    const Json& statuses = pod["status"]["containerStatuses"];
    bool all_finished = !statuses.items().empty();
    for (const Json& status : statuses.items()) {
        const Json& state = status["state"];
        const Json& last = status["lastState"]["terminated"];
        Moment present;
        for (const char* kind : {"running", "terminated"})
            present = later(present, time_of(state[kind]["startedAt"]));
        const bool restarted = status["restartCount"].int_or(0) > 0;
        const Moment before = time_of(last["startedAt"]);
        times.started = later(times.started, restarted && before ? before : present);
        if (restarted) times.again = later(times.again, present ? present : before);
        if (const Moment finished = time_of(state["terminated"]["finishedAt"]))
            times.finished = later(times.finished, finished);
        else
            all_finished = false;
    }
    if (!all_finished) times.finished.reset();
}

PodTimes times_of(const Json& pod, const EventsByPod& events, api::Time now) {
    PodTimes times = {.pod = &pod, .created = time_of(pod["metadata"]["creationTimestamp"])};
    for (const api::Condition& each : api::parse_conditions(pod["status"]["conditions"]))
        if (each.type == "PodScheduled" && each.is_true()) times.scheduled = each.last_transition;
    note_containers(pod, times);
    const auto told = events.find(pod["metadata"]["name"].as_string());
    if (told != events.end()) {
        times.pulled = told->second.pulled;
        times.pulls = !times.started && told->second.pulled_images.size() < told->second.pulls.size();
        // Of several attempts, a status has the last two.
        if (times.again && told->second.started) times.started = told->second.started;
    }
    times.has_failed = pod["status"]["phase"].as_string() == "Failed";
    times.fails = times.again && pod_facts(pod, now).does == PodDoes::fail;
    return times;
}

// "night-node-0" of the Pod "night-node-0-1-abcde".
std::string_view job_of(std::string_view pod) {
    for (int part = 0; part < 2; ++part) pod = pod.substr(0, std::min(pod.rfind('-'), pod.size()));
    return pod;
}

}  // namespace

std::vector<PodTimes> times_of_pods(const TimelineObjects& seen, api::Time now) {
    const EventsByPod events = events_by_pod(seen.events);
    std::vector<PodTimes> pods;
    const Moment job_created = time_of(seen.job["metadata"]["creationTimestamp"]);
    for (const Json& pod : seen.pods)
        if (!job_created || !is_of_namesake(pod, *job_created)) pods.push_back(times_of(pod, events, now));
    std::sort(pods.begin(), pods.end(),
              [](const PodTimes& a, const PodTimes& b) { return comes_before(*a.pod, *b.pod); });
    return pods;
}

bool is_of_pods(const Json& event, const TimelineObjects& seen) {
    if (event["involvedObject"]["kind"].as_string() != "Pod") return false;
    const std::string_view pod = event["involvedObject"]["name"].as_string();
    for (const Json& each : seen.pods)
        if (each["metadata"]["name"].as_string() == pod) return true;
    const std::string_view job_set = seen.job["metadata"]["name"].as_string();
    const std::string_view job = job_of(pod);
    // The JobSet may be gone as well.
    for (const Json* list : {&seen.job["status"]["jobsStatus"], &seen.job_set["spec"]["replicatedJobs"]})
        for (const Json& each : list->items())
            if (api::job_set_names::is_job(job, job_set, each["name"].as_string())) return true;
    return false;
}

std::vector<PodTimes> times_of_events(const TimelineObjects& seen, const api::TrainJob& job, api::Time begin,
                                      api::Time now) {
    std::vector<Json> own;
    for (const Json& event : seen.events) {
        const Moment time = first_time(event);
        if (time && *time >= begin && is_of_pods(event, seen)) own.push_back(event);
    }
    const api::Condition* end = api::terminal_condition(job);
    const bool is_complete = end && end->type == api::condition::complete;
    std::vector<PodTimes> pods;
    for (const auto& [name, events] : events_by_pod(own)) {
        PodTimes times = {.scheduled = events.scheduled,
                          .pulled = events.pulled,
                          .started = events.started,
                          .again = events.again};
        const api::Time until = end ? end->last_transition : now;
        times.fails = times.again && !is_complete && until - *times.again < lasting;
        pods.push_back(times);
    }
    return pods;
}

}  // namespace cli
