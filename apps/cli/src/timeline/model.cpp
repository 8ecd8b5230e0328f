#include "timeline/model.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "api/job_set.hpp"
#include "api/names.hpp"
#include "job/failure.hpp"
#include "job/findings.hpp"
#include "job/job_state.hpp"
#include "job/pods.hpp"
#include "text/duration.hpp"
#include "timeline/pod_times.hpp"

namespace cli {
namespace {

using api::Json;
using std::chrono::seconds;

constexpr seconds shortest_loss{60};
constexpr int part_of_loss = 10;

// The stage of programs of which no attempt lasts.
constexpr std::string_view failing = "fails and is retried";

// The latest of the known times.
Moment latest_of(const std::vector<PodTimes>& pods, Moment PodTimes::*which) {
    Moment last;
    for (const PodTimes& pod : pods)
        if (pod.*which) last = std::max(last.value_or(*(pod.*which)), *(pod.*which));
    return last;
}

// The time of the last one; empty if one of the existing Pods has none.
Moment last_of(const std::vector<PodTimes>& pods, Moment PodTimes::*which) {
    const bool all = std::all_of(pods.begin(), pods.end(),
                                 [which](const PodTimes& pod) { return !pod.pod || pod.*which; });
    return all ? latest_of(pods, which) : std::nullopt;
}

Moment first_start(const std::vector<Json>& jobs) {
    Moment first;
    for (const Json& job : jobs)
        if (const Moment start = time_of(job["status"]["startTime"]))
            first = std::min(first.value_or(*start), *start);
    return first;
}

// Adds stages one after the other.
class Stages {
public:
    /// `end`: of the TrainJob; no stage is open any more.
    Stages(Timeline& timeline, api::Time begin, Moment end = {})
        : timeline_(timeline), at_(begin), end_(end) {}

    /// The stage ends at `end`; without one it is open, or ends with the TrainJob. Returns false in that
    /// case.
    bool add(std::string name, Moment end, Tone tone = Tone::held) {
        Span span = {.name = std::move(name), .begin = at_, .tone = tone, .goes_on = !end && !end_};
        span.end = std::clamp(end ? *end : end_.value_or(timeline_.end), at_, timeline_.end);
        at_ = span.end;
        if (span.end > span.begin || span.goes_on) timeline_.stages.push_back(std::move(span));
        return end.has_value();
    }

private:
    Timeline& timeline_;
    api::Time at_;
    Moment end_;
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

// Returns whether there were Pods before the latest ones, which may have failed as well.
bool was_restarted(const TimelineObjects& seen, const std::vector<PodTimes>& existing, api::Time begin) {
    if (seen.job_set["status"]["restarts"].int_or(0) > 0) return true;
    // Jobs began before all of their Pods.
    if (existing.empty()) return false;
    std::int64_t failed = 0;
    for (const Json& job : seen.jobs) failed += job["status"]["failed"].int_or(0);
    std::set<std::pair<std::string_view, std::string_view>> numbers;
    for (const PodTimes& each : existing) {
        const Json& labels = (*each.pod)["metadata"]["labels"];
        const std::string_view index = labels[api::completion_index_label].as_string();
        const bool is_first =
            index.empty() ||
            numbers.insert({labels["batch.kubernetes.io/job-name"].as_string(), index}).second;
        if (each.has_failed && is_first) --failed;
    }
    return failed > 0 || std::any_of(seen.events.begin(), seen.events.end(), [&](const Json& event) {
               const auto is_of = [&](const PodTimes& each) {
                   return (*each.pod)["metadata"]["name"] == event["involvedObject"]["name"];
               };
               // A Pod that was evicted is gone and has not failed.
               return event["reason"].as_string() == "Started" && time_of_event(event) >= begin &&
                      std::none_of(existing.begin(), existing.end(), is_of);
           });
}

// The reason why a Pod does not leave the stage.
std::string first_problem(const std::vector<PodTimes>& pods, api::Time now) {
    for (const PodTimes& each : pods)
        if (!each.pod)
            continue;
        else if (std::string problem = problem_of(*each.pod, now); !problem.empty())
            return problem;
    return "";
}

void mark_losses(Timeline& timeline, const std::vector<PodTimes>& pods, api::Time now) {
    const seconds whole = timeline.end - timeline.begin;
    for (Span& stage : timeline.stages) {
        const seconds length = stage.end - stage.begin;
        if (stage.tone == Tone::good || stage.tone == Tone::faint || length < shortest_loss ||
            length * part_of_loss < whole)
            continue;
        stage.note = std::to_string(length * 100 / whole) + "% of the time was lost here";
        const std::string why = stage.goes_on ? first_problem(pods, now) : "";
        if (!why.empty()) stage.note += ": " + why;
        stage.tone = Tone::bad;
    }
}

// Of programs that have begun. What fails again and again does not run.
void add_run(Stages& stages, const Moment& again, bool fails, const Moment& end) {
    if (fails) {
        stages.add(std::string(failing), end, Tone::bad);
        return;
    }
    if (again) stages.add("earlier attempts", again);
    stages.add("running", end, Tone::good);
}

NodeRow node_row(const PodTimes& pod, api::Time end) {
    NodeRow row = {.name = std::string((*pod.pod)["metadata"]["name"].as_string())};
    if (!pod.created) return row;
    Timeline part = {.end = end};
    Stages stages(part, *pod.created);
    const bool runs =
        stages.add("scheduling", pod.scheduled) &&
        ((!pod.pulled && !pod.pulls) || stages.add("image pulls", pod.pulls ? Moment() : pod.pulled)) &&
        stages.add("start", pod.started);
    if (runs && pod.has_failed)
        stages.add("failed", pod.finished, Tone::bad);
    else if (runs)
        add_run(stages, pod.again, pod.fails, pod.finished);
    row.spans = std::move(part.stages);
    return row;
}

// Of Pods that are gone, a time that no event has is not known.
void add_pods(Stages& stages, const std::vector<PodTimes>& pods, const Moment& end) {
    const auto add = [&](const char* name, Moment PodTimes::*which) {
        const Moment time = last_of(pods, which);
        if (time || (!pods.empty() && pods.front().pod)) return stages.add(name, time);
        stages.add("unknown", end, Tone::faint);
        return false;
    };
    const Moment pulled = latest_of(pods, &PodTimes::pulled);
    const bool pulls = std::any_of(pods.begin(), pods.end(), [](const PodTimes& pod) { return pod.pulls; });
    const bool run = add("scheduling", &PodTimes::scheduled) &&
                     ((!pulled && !pulls) || stages.add("image pulls", pulls ? Moment() : pulled)) &&
                     add("start", &PodTimes::started);
    if (!run) return;
    const bool fails = std::any_of(pods.begin(), pods.end(), [](const PodTimes& pod) { return pod.fails; });
    add_run(stages, latest_of(pods, &PodTimes::again), fails, end);
}

// The oldest first, as the stages are. Clocks of nodes may be wrong.
void add_failures(Timeline& timeline, const std::vector<api::Failure>& failures) {
    for (auto each = failures.rbegin(); each != failures.rend(); ++each) {
        const api::Time at = std::clamp(each->time, timeline.begin, timeline.end);
        timeline.failures.push_back(
            {.name = "failed at", .begin = at, .end = at, .tone = Tone::bad, .note = cause_of(*each)});
    }
}

// When the objects were there that make Pods. An ended job has no condition that says so.
Moment creation_of(const TimelineObjects& seen, const api::TrainJob& job, api::Time begin) {
    if (const Moment started = first_start(seen.jobs); started && *started >= begin) return started;
    const api::Condition* created = api::find_condition(job.conditions, api::condition::created);
    if (created) return created->is_true() ? Moment(std::max(created->last_transition, begin)) : std::nullopt;
    Moment said;
    for (const Json& event : seen.events)
        if (event["reason"].as_string() == api::reason::jobs_creation_succeeded) said = time_of_event(event);
    if (said && *said >= begin) return said;
    return job.jobs_status.empty() ? Moment() : begin;
}

// When the last attempt failed before the Pods were made that exist; or at all, if there is no such time.
Moment last_failure(const api::TrainJob& job, api::Time begin, const Moment& made) {
    for (const api::Failure& each : job.failures)
        if (each.time >= begin && (!made || each.time < *made)) return each.time;
    return std::nullopt;
}

void add_stages(Timeline& timeline, const TimelineObjects& seen, const api::TrainJob& job,
                const std::vector<PodTimes>& existing, Moment end, api::Time now) {
    Stages stages(timeline, timeline.begin, end);
    const std::string held = job.queue.empty() ? "suspended" : "queued";
    api::Time begin = timeline.begin;
    if (const auto suspended = suspension_of(job, seen.events)) {
        if (suspended->begin && *suspended->begin - timeline.begin > seconds(5))
            stages.add("before", suspended->begin);
        if (!stages.add(held, suspended->end)) return;
        begin = *suspended->end;
    }
    const bool restarts = stage_of(job).next_attempt.has_value();
    const Moment made = restarts ? std::nullopt : last_of(existing, &PodTimes::created);
    if (const Moment failed = restarts || made ? last_failure(job, begin, made) : std::nullopt) {
        stages.add("earlier attempts", failed);
        if (stages.add("restarting", made)) add_pods(stages, existing, end);
        return;
    }
    const std::string before = was_restarted(seen, existing, begin) ? "earlier attempts" : "creation";
    if (!existing.empty()) {
        if (stages.add(before, made)) add_pods(stages, existing, end);
        return;
    }
    const Moment created = creation_of(seen, job, begin);
    const bool may_be_gone = end || seen.pods_unread;
    // A job that goes on without Pods has yet to get them.
    if (!stages.add(before, may_be_gone ? created : std::nullopt)) return;
    add_pods(stages, times_of_events(seen, job, begin, now), end);
}

PodsState pods_of(const TimelineObjects& seen, const api::TrainJob& job, api::Time now) {
    if (seen.pods_unread) return {};
    BackoffLimits limits;
    for (const Json& each : seen.jobs)
        if (const auto limit = each["spec"]["backoffLimit"].as_int())
            limits[std::string(each["metadata"]["name"].as_string())] = *limit;
    std::vector<PodFacts> pods;
    for (const Json& pod : seen.pods) pods.push_back(pod_facts(pod, now));
    return pods_state(std::move(pods), job.meta.creation, limits, now);
}

}  // namespace

Timeline timeline_of(const TimelineObjects& seen, api::Time now) {
    const api::TrainJob job = api::parse_train_job(seen.job);
    const api::Condition* terminal = api::terminal_condition(job);
    const Moment end = terminal ? Moment(terminal->last_transition) : std::nullopt;
    const PodsState state = pods_of(seen, job, now);
    const bool stops = end && state.unfinished > 0;
    Timeline timeline = {.begin = job.meta.creation,
                         .end = std::max(stops ? now : end.value_or(now), job.meta.creation)};
    const seconds length = std::max(end.value_or(now), timeline.begin) - timeline.begin;
    timeline.title = "TrainJob " + to_string(job.meta.key()) + ", " +
                     text_of(activity_of(stage_of(job), state), now) + ", submitted " +
                     api::format_time(timeline.begin) + ", " + (end ? "took " : "") +
                     format_duration(length) + (end ? "" : " ago");
    const std::vector<PodTimes> pods = times_of_pods(seen, now);
    add_stages(timeline, seen, job, pods, end, now);
    if (stops) Stages(timeline, *end).add("stopping", std::nullopt);
    mark_losses(timeline, pods, now);
    add_failures(timeline, job.failures);
    for (const PodTimes& pod : pods) timeline.nodes.push_back(node_row(pod, timeline.end));
    if (const std::int64_t restarts = api::parse_job_set(seen.job_set).restarts.all; restarts > 0)
        timeline.notes.push_back("it was restarted " + times(restarts) +
                                 "; Pods are those of the last attempt");
    if (pods.empty() && end)
        timeline.notes.push_back("its Pods are gone: these are the times of their events");
    return timeline;
}

}  // namespace cli
