#include "job/findings.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "api/condition.hpp"
#include "api/failure.hpp"
#include "api/names.hpp"
#include "text/duration.hpp"

namespace cli {
namespace {

using api::Json;

std::string text_of(const Json& json) { return std::string(json.as_string()); }

auto rank_of(const Json& pod) {
    const Json& labels = pod["metadata"]["labels"];
    const std::string_view index = labels[api::completion_index_label].as_string();
    return std::tuple(labels["batch.kubernetes.io/job-name"].as_string(), index.size(), index,
                      pod["metadata"]["name"].as_string());
}

std::string joined(std::string_view first, std::string_view second) {
    std::string text(first);
    if (!first.empty() && !second.empty()) text += ": ";
    return text.append(second);
}

// It may be the last lines of a log.
std::string end_of(std::string_view message) {
    constexpr std::size_t most_columns = 200;
    const std::size_t last = message.find_last_not_of(" \t\r\n");
    return cut_beginning(message.substr(0, last == std::string_view::npos ? 0 : last + 1), most_columns);
}

std::string ending_of(const Json& terminated) {
    return joined(exit_text(terminated), end_of(terminated["message"].as_string()));
}

std::string problem_of_container(const Json& status) {
    const std::string name = "container " + text_of(status["name"]);
    const Json& waiting = status["state"]["waiting"];
    const std::int64_t restarts = status["restartCount"].int_or(0);
    const std::string again = restarts > 0 ? " (restarted " + times(restarts) + ")" : "";
    const Json& last = status["lastState"]["terminated"];
    if (waiting.is_object() && !is_ordinary(waiting["reason"].as_string())) {
        const std::string before = last.is_object() ? "; before: " + ending_of(last) : "";
        return name + ": " + joined(waiting["reason"].as_string(), waiting["message"].as_string()) + before +
               again;
    }
    const Json& ended = status["state"]["terminated"];
    if (ended.is_object() && ended["exitCode"].int_or(0) != 0) return name + ": " + ending_of(ended) + again;
    if (restarts > 0 && last.is_object()) return name + ": ended with " + ending_of(last) + again;
    return "";
}

std::string problem_of_scheduling(const Json& pod) {
    const std::string why = why_without_node(pod);
    const bool is_gated = !pod["spec"]["schedulingGates"].items().empty();
    return why.empty() || is_gated ? why : std::string(no_node) + why;
}

std::string problem_of_deletion(const Json& pod, api::Time now) {
    const auto since = time_of(pod["metadata"]["deletionTimestamp"]);
    // The time stamp includes the grace period.
    if (!since || now <= *since + late_end) return "";
    return "should have ended " + format_duration(now - *since) + " ago; its node " +
           text_of(pod["spec"]["nodeName"]) + " does not let go of it";
}

std::string problem_of_node(const Json& pod, api::Time now, const NodeObjects& nodes) {
    const auto silence = silence_of(pod, nodes);
    if (!silence) return "";
    // A node that is gone has no time.
    const std::string time =
        silence->since == api::Time() ? "" : " for " + format_duration(since(silence->since, now));
    return joined("its node " + silence->node + " does not answer" + time, silence->message);
}

// A drained node, a taint, a Pod of higher priority. An ended Pod has its own words for it.
std::string problem_of_disruption(const Json& pod) {
    if (pod["metadata"]["deletionTimestamp"].is_null()) return "";
    const auto conditions = api::parse_conditions(pod["status"]["conditions"]);
    const api::Condition* disrupted = api::find_condition(conditions, "DisruptionTarget");
    return disrupted && disrupted->is_true() ? joined(disrupted->reason, disrupted->message) : "";
}

// Only an event says what its node lacks.
std::string problem_of_start(const Json& pod, api::Time now, const std::vector<Json>& events) {
    const auto since = setup_of(pod);
    if (!since) return "";
    const Json* last = nullptr;
    for (const Json& event : events) {
        const std::string_view reason = event["reason"].as_string();
        const bool tells =
            reason == "FailedMount" || reason == "FailedAttachVolume" || reason == "FailedCreatePodSandBox";
        if (!tells || event["involvedObject"]["uid"] != pod["metadata"]["uid"]) continue;
        if (!last || time_of_event(*last) <= time_of_event(event)) last = &event;
    }
    if (last) return joined((*last)["reason"].as_string(), (*last)["message"].as_string());
    return now - *since > longest_setup ? std::string(setup_takes_long) : "";
}

// Kueue's sentences may or may not end with a full stop.
std::string with_message(std::string text, const api::Condition& condition) {
    return condition.message.empty() ? text : text + ": " + condition.message;
}

// "the admission check provisioning (Pending): no machines yet"; several with commas.
std::string open_checks(const api::Json& workload) {
    std::string text;
    for (const api::Json& check : workload["status"]["admissionChecks"].items()) {
        const std::string_view state = check["state"].as_string();
        if (state == "Ready") continue;
        text += text.empty() ? "the admission check " : ", ";
        text.append(check["name"].as_string()).append(" (").append(state).append(")");
        if (const std::string_view message = check["message"].as_string(); !message.empty())
            text.append(": ").append(message);
    }
    return text.empty() ? "admission checks" : text;
}

}  // namespace

bool comes_before(const Json& a, const Json& b) { return rank_of(a) < rank_of(b); }

std::string why_without_node(const Json& pod) {
    const auto conditions = api::parse_conditions(pod["status"]["conditions"]);
    const api::Condition* scheduled = api::find_condition(conditions, "PodScheduled");
    if (!scheduled || scheduled->status != "False") return "";
    std::string gates;
    for (const Json& gate : pod["spec"]["schedulingGates"].items())
        gates += (gates.empty() ? "" : ", ") + text_of(gate["name"]);
    return gates.empty() ? scheduled->message : "waits for scheduling gates: " + gates;
}

std::string times(std::int64_t count) { return count == 1 ? "once" : std::to_string(count) + " times"; }

std::string phase_of(const Json& pod) {
    if (!pod["metadata"]["deletionTimestamp"].is_null()) return "Terminating";
    const std::string_view phase = pod["status"]["phase"].as_string();
    return phase.empty() ? "Pending" : std::string(phase);
}

bool is_ordinary(std::string_view reason) {
    return reason == "ContainerCreating" || reason == "PodInitializing";
}

std::string exit_text(const Json& terminated) {
    return api::exit_text(terminated["reason"].as_string(), terminated["exitCode"].int_or(0));
}

std::string problem_of(const Json& pod, api::Time now, const NodeObjects& nodes,
                       const std::vector<Json>& events) {
    if (std::string stuck = problem_of_deletion(pod, now); !stuck.empty()) return stuck;
    if (std::string silent = problem_of_node(pod, now, nodes); !silent.empty()) return silent;
    if (std::string disrupted = problem_of_disruption(pod); !disrupted.empty()) return disrupted;
    if (std::string waits = problem_of_scheduling(pod); !waits.empty()) return waits;
    // For example an eviction. The exit codes of containers follow from it.
    if (pod["status"]["phase"].as_string() == "Failed" && !pod["status"]["reason"].as_string().empty())
        return joined(pod["status"]["reason"].as_string(), pod["status"]["message"].as_string());
    for (const char* kind : {"initContainerStatuses", "containerStatuses"})
        for (const Json& status : pod["status"][kind].items())
            if (std::string problem = problem_of_container(status); !problem.empty()) return problem;
    if (pod["status"]["phase"].as_string() == "Failed") return text_of(pod["status"]["message"]);
    return problem_of_start(pod, now, events);
}

std::optional<api::Time> time_of(const Json& stamp) {
    const auto time = api::parse_time(stamp.as_string());
    return time ? std::optional(*time) : std::nullopt;
}

std::optional<api::Time> time_of_event(const Json& event) {
    for (const Json* text : {&event["series"]["lastObservedTime"], &event["lastTimestamp"],
                             &event["eventTime"], &event["metadata"]["creationTimestamp"]})
        if (const auto time = time_of(*text)) return time;
    return std::nullopt;
}

std::vector<EventLine> event_lines_of(const std::vector<Json>& events) {
    std::map<std::tuple<std::string_view, std::string_view, std::string_view>, EventLine> folded;
    for (const Json& event : events) {
        const std::string_view kind = event["involvedObject"]["kind"].as_string();
        const std::string_view reason = event["reason"].as_string();
        EventLine& each = folded[{kind, reason, event["message"].as_string()}];
        const bool first = each.count == 0;
        each.count +=
            std::max({event["series"]["count"].int_or(1), event["count"].int_or(1), std::int64_t(1)});
        each.last = std::max(each.last, time_of_event(event).value_or(api::Time()));
        each.warning = event["type"].as_string() == "Warning";
        if (!first) continue;
        const std::string_view name = event["involvedObject"]["name"].as_string();
        each.object = kind;
        if (kind == "Pod" || kind == "Job") each.object.append(" ").append(name);
        each.reason = reason;
        each.message = event["message"].as_string();
    }
    std::vector<EventLine> all;
    for (auto& [key, each] : folded) all.push_back(std::move(each));
    std::stable_sort(all.begin(), all.end(),
                     [](const EventLine& a, const EventLine& b) { return a.last < b.last; });
    return all;
}

std::string queue_of(const api::TrainJob& job, const Json& job_set) {
    if (!job.queue.empty() || api::parse_meta(job_set).controller_uid != job.meta.uid) return job.queue;
    return text_of(job_set["metadata"]["labels"][api::queue_label]);
}

QueueState queue_state(const api::Json& workload) {
    if (workload.is_null()) return {"Kueue has made no Workload for it yet"};
    if (!workload["spec"]["active"].bool_or(true)) return {"held: spec.active of its Workload is false"};
    const auto conditions = api::parse_conditions(workload["status"]["conditions"]);
    if (api::is_true(conditions, "Admitted"))
        return {"admitted by the ClusterQueue " +
                    std::string(workload["status"]["admission"]["clusterQueue"].as_string()),
                Tone::good};
    const api::Condition* quota = api::find_condition(conditions, "QuotaReserved");
    if (quota && quota->is_true()) return {"has its quota, and waits for " + open_checks(workload)};
    if (quota) return {with_message("waits", *quota)};
    const api::Condition* evicted = api::find_condition(conditions, "Evicted");
    if (evicted && evicted->is_true()) return {with_message("evicted", *evicted)};
    return {"Kueue has not looked at it yet"};
}

}  // namespace cli
