#include "timeline/model.hpp"

#include <algorithm>
#include <map>

#include "api/job_set.hpp"
#include "api/names.hpp"
#include "job/findings.hpp"
#include "job/job_state.hpp"
#include "text/duration.hpp"

namespace cli {
namespace {

using api::Json;
using std::chrono::seconds;

constexpr seconds shortest_loss{60};
constexpr int part_of_loss = 10;

using Moment = std::optional<api::Time>;

Moment moment(const Json& text) {
    const auto time = api::parse_time(text.as_string());
    return time ? Moment(*time) : std::nullopt;
}

// The times at which one Pod reached its stages; empty: not yet, or unknown.
struct PodTimes {
    const Json* pod = nullptr;
    Moment created = {};
    Moment scheduled = {};
    Moment pulled = {};
    Moment started = {};
    Moment finished = {};
    bool failed = false;
};

void note_containers(const Json& statuses, PodTimes& times) {
    bool all_finished = !statuses.items().empty();
    for (const Json& status : statuses.items()) {
        const Json& state = status["state"];
        for (const char* kind : {"running", "terminated"})
            if (const Moment started = moment(state[kind]["startedAt"]))
                times.started = std::max(times.started.value_or(*started), *started);
        if (const Moment finished = moment(state["terminated"]["finishedAt"]))
            times.finished = std::max(times.finished.value_or(*finished), *finished);
        else
            all_finished = false;
    }
    if (!all_finished) times.finished.reset();
}

PodTimes times_of(const Json& pod, const std::map<std::string_view, api::Time>& pulls) {
    PodTimes times = {.pod = &pod, .created = moment(pod["metadata"]["creationTimestamp"])};
    for (const api::Condition& each : api::parse_conditions(pod["status"]["conditions"]))
        if (each.type == "PodScheduled" && each.is_true()) times.scheduled = each.last_transition;
    const auto pulled = pulls.find(pod["metadata"]["name"].as_string());
    if (pulled != pulls.end()) times.pulled = pulled->second;
    note_containers(pod["status"]["containerStatuses"], times);
    times.failed = pod["status"]["phase"].as_string() == "Failed";
    return times;
}

// For each Pod, when its last image was pulled.
std::map<std::string_view, api::Time> pulls_of(const std::vector<Json>& events) {
    std::map<std::string_view, api::Time> pulls;
    for (const Json& event : events) {
        const Moment time = time_of_event(event);
        if (!time || event["reason"].as_string() != "Pulled") continue;
        api::Time& last = pulls[event["involvedObject"]["name"].as_string()];
        last = std::max(last, *time);
    }
    return pulls;
}

// The time of the last one; empty if one is missing.
Moment last_of(const std::vector<PodTimes>& pods, Moment PodTimes::*which) {
    Moment last;
    for (const PodTimes& pod : pods) {
        if (!(pod.*which)) return std::nullopt;
        last = std::max(last.value_or(*(pod.*which)), *(pod.*which));
    }
    return last;
}

Moment first_start(const std::vector<Json>& jobs) {
    Moment first;
    for (const Json& job : jobs)
        if (const Moment start = moment(job["status"]["startTime"]))
            first = std::min(first.value_or(*start), *start);
    return first;
}

// Adds stages one after the other.
class Stages {
public:
    Stages(Timeline& timeline, api::Time begin) : timeline_(timeline), at_(begin) {}

    /// The stage ends at `end`; without one it is open. Returns false if it is open.
    bool add(std::string name, Moment end, Tone tone = Tone::held) {
        Span span = {.name = std::move(name), .begin = at_, .tone = tone, .goes_on = !end};
        span.end = std::clamp(end.value_or(timeline_.end), at_, timeline_.end);
        at_ = span.end;
        if (span.end > span.begin || span.goes_on) timeline_.stages.push_back(std::move(span));
        return end.has_value();
    }

private:
    Timeline& timeline_;
    api::Time at_;
};

struct Suspended {
    Moment begin = {};
    Moment end = {};
};

// Only the latest suspension: conditions have no earlier ones.
std::optional<Suspended> suspension_of(const api::TrainJob& job, const std::vector<Json>& events) {
    const api::Condition* condition = api::find_condition(job.conditions, api::condition::suspended);
    if (!condition) return std::nullopt;
    if (condition->is_true()) return Suspended{.begin = condition->last_transition};
    Suspended found = {.end = condition->last_transition};
    for (const Json& event : events) {
        const Moment time = time_of_event(event);
        if (event["reason"].as_string() == api::reason::suspended && time && *time <= *found.end)
            found.begin = std::max(found.begin.value_or(*time), *time);
    }
    return found;
}

bool was_restarted(const TimelineObjects& seen) {
    if (seen.job_set["status"]["restarts"].int_or(0) > 0) return true;
    return std::any_of(seen.jobs.begin(), seen.jobs.end(),
                       [](const Json& job) { return job["status"]["failed"].int_or(0) > 0; });
}

// The reason why a Pod does not leave the stage.
std::string first_problem(const std::vector<PodTimes>& pods, api::Time now) {
    for (const PodTimes& each : pods)
        if (std::string problem = problem_of(*each.pod, now); !problem.empty()) return problem;
    return "";
}

void mark_losses(Timeline& timeline, const std::vector<PodTimes>& pods, api::Time now) {
    const seconds whole = timeline.end - timeline.begin;
    for (Span& stage : timeline.stages) {
        const seconds length = stage.end - stage.begin;
        if (stage.tone == Tone::good || length < shortest_loss || length * part_of_loss < whole) continue;
        stage.note = std::to_string(length * 100 / whole) + "% of the time was lost here";
        const std::string why = stage.goes_on ? first_problem(pods, now) : "";
        if (!why.empty()) stage.note += ": " + why;
        stage.tone = Tone::bad;
    }
}

NodeRow node_row(const PodTimes& pod, api::Time end) {
    NodeRow row = {.name = std::string((*pod.pod)["metadata"]["name"].as_string())};
    if (!pod.created) return row;
    Timeline part = {.end = end};
    Stages stages(part, *pod.created);
    const bool runs = stages.add("scheduling", pod.scheduled) &&
                      (!pod.pulled || stages.add("image pulls", pod.pulled)) &&
                      stages.add("start", pod.started);
    if (runs) {
        stages.add(pod.failed ? "failed" : "running", pod.finished, pod.failed ? Tone::bad : Tone::good);
    }
    row.spans = std::move(part.stages);
    return row;
}

void add_stages(Timeline& timeline, const TimelineObjects& seen, const api::TrainJob& job,
                const std::vector<PodTimes>& pods, Moment end) {
    Stages stages(timeline, timeline.begin);
    const std::string held = job.queue.empty() ? "suspended" : "queued";
    const std::string before = was_restarted(seen) ? "earlier attempts" : "creation";
    if (const auto suspended = suspension_of(job, seen.events)) {
        if (suspended->begin && *suspended->begin - timeline.begin > seconds(5))
            stages.add("before", suspended->begin);
        if (!stages.add(held, suspended->end)) return;
    }
    if (pods.empty()) {
        const Moment started = first_start(seen.jobs);
        if (!stages.add("creation", started ? started : end)) return;
        if (started) stages.add("running", end, Tone::good);
        return;
    }
    const Moment pulled = last_of(pods, &PodTimes::pulled);
    const bool run = stages.add(before, last_of(pods, &PodTimes::created)) &&
                     stages.add("scheduling", last_of(pods, &PodTimes::scheduled)) &&
                     (!pulled || stages.add("image pulls", pulled)) &&
                     stages.add("start", last_of(pods, &PodTimes::started));
    if (run) stages.add("running", end, Tone::good);
}

}  // namespace

Timeline timeline_of(const TimelineObjects& seen, api::Time now) {
    const api::TrainJob job = api::parse_train_job(seen.job);
    const api::Condition* terminal = api::terminal_condition(job);
    const Moment end = terminal ? Moment(terminal->last_transition) : std::nullopt;
    Timeline timeline = {.begin = job.meta.creation, .end = std::max(end.value_or(now), job.meta.creation)};

    const auto pulls = pulls_of(seen.events);
    std::vector<PodTimes> pods;
    for (const Json& pod : seen.pods) pods.push_back(times_of(pod, pulls));
    std::sort(pods.begin(), pods.end(),
              [](const PodTimes& a, const PodTimes& b) { return comes_before(*a.pod, *b.pod); });
    const bool any =
        std::any_of(pods.begin(), pods.end(), [](const PodTimes& pod) { return pod.started.has_value(); });
    const PodsState state = {.what = any ? PodsDo::run : PodsDo::wait};
    timeline.title = "TrainJob " + to_string(job.meta.key()) + ", " +
                     std::string(activity_of(stage_of(job), state).word) + ", submitted " +
                     api::format_time(timeline.begin) + ", " + (end ? "took " : "") +
                     format_duration(timeline.end - timeline.begin) + (end ? "" : " ago");
    add_stages(timeline, seen, job, pods, end);
    mark_losses(timeline, pods, now);
    for (const PodTimes& pod : pods) timeline.nodes.push_back(node_row(pod, timeline.end));
    if (const std::int64_t restarts = seen.job_set["status"]["restarts"].int_or(0); restarts > 0)
        timeline.notes.push_back("the JobSet was restarted " + times(restarts) +
                                 "; Pods are those of the last attempt");
    if (pods.empty() && !seen.jobs.empty()) timeline.notes.push_back("its Pods are gone");
    return timeline;
}

}  // namespace cli
