#include "job/pods.hpp"

#include <algorithm>
#include <limits>

#include "api/condition.hpp"
#include "api/names.hpp"
#include "job/findings.hpp"
#include "text/duration.hpp"

namespace cli {
namespace {

using api::Json;
using std::chrono::seconds;

constexpr std::size_t most_names = 3;
constexpr seconds longest_pause{300};
constexpr seconds more_than_before{60};

std::string text_of(const Json& json) { return std::string(json.as_string()); }

seconds length_of(const Json& terminated) {
    const auto began = time_of(terminated["startedAt"]);
    const auto ended = time_of(terminated["finishedAt"]);
    return began && ended ? since(*began, *ended) : seconds(0);
}

bool has_recovered(const std::optional<api::Time>& runs, seconds lasted, api::Time now) {
    return runs && now - *runs >= std::min(longest_pause, lasted + more_than_before);
}

// Returns why a waiting container cannot start; "" if it may.
std::string start_error(const Json& waiting) {
    const std::string_view reason = waiting["reason"].as_string();
    if (reason.empty() || is_ordinary(reason) || reason == "CrashLoopBackOff") return "";
    // ErrImagePull and ImagePullBackOff take turns.
    if (reason.find("Image") != std::string_view::npos) return "its image cannot be pulled";
    return std::string(reason);
}

bool never_began(const Json& terminated) {
    const std::string_view reason = terminated["reason"].as_string();
    return reason == "StartError" || reason == "ContainerCannotRun";
}

void note_container(const Json& status, api::Time now, PodFacts& facts) {
    facts.restarts += std::max<std::int64_t>(status["restartCount"].int_or(0), 0);
    const Json& state = status["state"];
    if (const auto began = time_of(state["running"]["startedAt"]))
        facts.runs = std::max(facts.runs.value_or(*began), *began);
    if (facts.does == PodDoes::cannot_start) return;
    if (const std::string error = start_error(state["waiting"]); !error.empty()) {
        facts.does = PodDoes::cannot_start;
        facts.cause = error;
        return;
    }
    const Json& ended =
        state["terminated"].is_object() ? state["terminated"] : status["lastState"]["terminated"];
    if (!ended.is_object() || ended["exitCode"].int_or(0) == 0) return;
    const seconds lasted = length_of(ended);
    if (has_recovered(time_of(state["running"]["startedAt"]), lasted, now)) return;
    facts.does = never_began(ended) ? PodDoes::cannot_start : PodDoes::fail;
    facts.cause = never_began(ended) ? "its command cannot be run" : exit_text(ended);
    facts.lasted = std::max(facts.lasted, lasted);
}

seconds grace_of(const Json& pod) {
    const std::int64_t of_pod = pod["spec"]["terminationGracePeriodSeconds"].int_or(30);
    const std::int64_t grace = pod["metadata"]["deletionGracePeriodSeconds"].int_or(of_pod);
    return seconds(std::clamp<std::int64_t>(grace, 0, 365 * 86'400));
}

const api::Condition* ready_of(const std::vector<api::Condition>& conditions) {
    return api::find_condition(conditions, "Ready");
}

// The attempts at one number of a Job: its newest Pod, and the newest of those that failed before.
struct Attempts {
    const PodFacts* now = nullptr;
    const PodFacts* failed = nullptr;
};

// A Pod that replaces a failed one is its next attempt.
PodDoes does(const Attempts& attempts, api::Time now) {
    const PodDoes latest = attempts.now->does;
    if (!attempts.failed || (latest != PodDoes::wait && latest != PodDoes::run)) return latest;
    return has_recovered(attempts.now->runs, attempts.failed->lasted, now) ? latest : PodDoes::fail;
}

// "3 of 6, exit code 1"; the first attempt is no retry.
std::string retries(std::int64_t tries, const BackoffLimits& limits, const PodFacts& pod) {
    if (tries == 0) return pod.cause;
    const auto limit = limits.find(pod.job);
    // A Job with limits for each number has the highest one of all. Beyond a limit the Job has failed, and a
    // failure policy may start it again.
    const bool is_limited = limit != limits.end() && tries <= limit->second &&
                            limit->second < std::numeric_limits<std::int32_t>::max();
    const std::string count =
        is_limited ? std::to_string(tries) + " of " + std::to_string(limit->second) : times(tries);
    return pod.cause.empty() ? count : count + ", " + pod.cause;
}

PodsDo found_by(PodDoes does) {
    switch (does) {
        case PodDoes::wait: return PodsDo::wait;
        case PodDoes::run:
        case PodDoes::succeeded: return PodsDo::run;
        case PodDoes::fail: return PodsDo::fail;
        case PodDoes::cannot_start: return PodsDo::cannot_start;
        case PodDoes::lost: return PodsDo::lost;
    }
    return PodsDo::unknown;
}

void note_unfinished(const std::vector<PodFacts>& pods, api::Time now, PodsState& state) {
    for (const PodFacts& pod : pods) {
        if (pod.ended) continue;
        ++state.unfinished;
        if (state.names.size() < most_names)
            state.names.push_back(pod.name + (pod.node.empty() ? "" : " on " + pod.node));
        if (!pod.deletion) continue;
        ++state.ending;
        state.grace_ends = std::max(state.grace_ends.value_or(*pod.deletion), *pod.deletion);
    }
    state.is_late = state.grace_ends && now > *state.grace_ends + late_end;
}

}  // namespace

std::optional<Silence> silence_of(const Json& pod, const NodeObjects& nodes) {
    if (pod["status"]["phase"].as_string() != "Running") return std::nullopt;
    Silence silence = {.node = text_of(pod["spec"]["nodeName"])};
    if (const auto node = nodes.find(silence.node); node != nodes.end()) {
        if (node->second.is_null()) return Silence{silence.node, {}, "the node is gone"};
        const auto conditions = api::parse_conditions(node->second["status"]["conditions"]);
        const api::Condition* ready = ready_of(conditions);
        if (!ready || ready->is_true()) return std::nullopt;
        silence.since = ready->last_transition;
        silence.message = ready->message;
        return silence;
    }
    const auto conditions = api::parse_conditions(pod["status"]["conditions"]);
    const api::Condition* ready = ready_of(conditions);
    if (!ready || ready->is_true() || !pod["spec"]["readinessGates"].items().empty()) return std::nullopt;
    // A Pod that was told to end may be unready by that.
    const auto deletion = time_of(pod["metadata"]["deletionTimestamp"]);
    if (deletion && ready->last_transition >= *deletion - grace_of(pod)) return std::nullopt;
    const auto& statuses = pod["status"]["containerStatuses"].items();
    const bool all_ready = std::all_of(statuses.begin(), statuses.end(),
                                       [](const Json& status) { return status["ready"].bool_or(false); });
    if (statuses.empty() || !all_ready) return std::nullopt;
    silence.since = ready->last_transition;
    return silence;
}

std::optional<api::Time> setup_of(const Json& pod) {
    if (pod["status"]["phase"].as_string() != "Pending" || pod["spec"]["nodeName"].as_string().empty())
        return std::nullopt;
    const auto conditions = api::parse_conditions(pod["status"]["conditions"]);
    const api::Condition* ready = api::find_condition(conditions, "PodReadyToStartContainers");
    return ready && ready->status == "False" ? std::optional(ready->last_transition) : std::nullopt;
}

PodFacts pod_facts(const Json& pod, api::Time now, const NodeObjects& nodes) {
    const Json& meta = pod["metadata"];
    const Json& labels = meta["labels"];
    const std::string_view phase = pod["status"]["phase"].as_string();
    const auto conditions = api::parse_conditions(pod["status"]["conditions"]);
    const api::Condition* ready = ready_of(conditions);
    PodFacts facts = {.train_job = {text_of(meta["namespace"]), text_of(labels[api::job_set_name_label])},
                      .name = text_of(meta["name"]),
                      .node = text_of(pod["spec"]["nodeName"]),
                      .job = text_of(labels["batch.kubernetes.io/job-name"]),
                      .index = text_of(labels[api::completion_index_label]),
                      .ended = phase == "Succeeded" || phase == "Failed",
                      .is_ready = ready && ready->is_true(),
                      .trains = !labels[api::replicated_job_label].as_string().ends_with("-initializer"),
                      .created = time_of(meta["creationTimestamp"]).value_or(api::Time()),
                      .deletion = time_of(meta["deletionTimestamp"])};
    if (phase == "Succeeded")
        facts.does = PodDoes::succeeded;
    else if (phase != "Pending" && !phase.empty())
        facts.does = PodDoes::run;
    if (facts.does == PodDoes::succeeded) return facts;
    if (const auto since = setup_of(pod); since && now - *since > longest_setup) {
        facts.does = PodDoes::cannot_start;
        facts.cause = setup_takes_long;
    }
    for (const char* kind : {"initContainerStatuses", "containerStatuses"})
        for (const Json& status : pod["status"][kind].items()) note_container(status, now, facts);
    if (phase == "Failed") {
        facts.does = PodDoes::fail;
        // For example an eviction, which ends the containers as well.
        if (const std::string reason = text_of(pod["status"]["reason"]); !reason.empty())
            facts.cause = reason;
    } else if (silence_of(pod, nodes)) {
        facts.does = PodDoes::lost;
        facts.cause = facts.node;
    }
    return facts;
}

bool is_of_namesake(const Json& pod, api::Time job_created) {
    const auto created = time_of(pod["metadata"]["creationTimestamp"]);
    return created && *created < job_created;
}

PodsState pods_state(std::vector<PodFacts> pods, api::Time job_created, const BackoffLimits& limits,
                     api::Time now) {
    std::erase_if(
        pods, [&](const PodFacts& pod) { return pod.created != api::Time() && pod.created < job_created; });
    std::sort(pods.begin(), pods.end(),
              [](const PodFacts& a, const PodFacts& b) { return a.created < b.created; });
    PodsState state = {.what = PodsDo::wait, .is_read = true};
    note_unfinished(pods, now, state);
    std::map<std::string_view, std::int64_t> tries;
    std::map<std::pair<std::string_view, std::string_view>, Attempts> numbers;
    for (const PodFacts& pod : pods) {
        state.ready += pod.is_ready && pod.trains ? 1 : 0;
        // A program that was told to end fails by that. A lost node tells its programs nothing.
        if (pod.deletion && pod.does != PodDoes::lost) continue;
        const bool has_failed = pod.ended && pod.does == PodDoes::fail;
        tries[pod.job] += pod.restarts + (has_failed ? 1 : 0);
        // Without a number nothing shows which Pod replaces it.
        if (has_failed && pod.index.empty()) continue;
        Attempts& attempts = numbers[{pod.job, pod.index.empty() ? pod.name : pod.index}];
        if (attempts.now && attempts.now->ended && attempts.now->does == PodDoes::fail)
            attempts.failed = attempts.now;
        attempts.now = &pod;
    }
    for (const auto& [number, attempts] : numbers) {
        const PodsDo found = found_by(does(attempts, now));
        if (found <= state.what) continue;
        state.what = found;
        const PodFacts& told =
            attempts.now->cause.empty() && attempts.failed ? *attempts.failed : *attempts.now;
        state.detail = found == PodsDo::fail ? retries(tries[told.job], limits, told) : told.cause;
    }
    return state;
}

}  // namespace cli
