#include "job/job_state.hpp"

#include <algorithm>

#include "text/duration.hpp"

namespace cli {
namespace {

// A job that stands still is to have no program. Of another one, those that were not told to end go on. A
// resumed one waits for its Pods of before.
std::int64_t count_of_ending(const JobStage& job, const PodsState& pods) {
    using enum lifecycle::State;
    if (job.state == suspended || job.state == complete || job.state == failed) return pods.unfinished;
    const bool waits = pods.what == PodsDo::wait && pods.ending == pods.unfinished;
    return job.is_deleted || job.suspend || job.next_attempt || waits ? pods.ending : 0;
}

// Pods that have ended are gone soon, so that the nodes tell how many there were.
std::string stopping_text(std::int64_t count, std::int64_t nodes, const PodsState& pods) {
    const std::int64_t all = std::max(count, nodes);
    const std::string text =
        "stopping: " + std::to_string(count) + " of " + std::to_string(all) + (all == 1 ? " Pod " : " Pods ");
    if (!pods.grace_ends) return text + (count == 1 ? "still runs" : "still run");
    return text + (pods.is_late ? "past " : "within ") + (count == 1 ? "its" : "their") + " grace";
}

// Without the Pods that are to end.
JobState transition_of(const JobStage& job, const PodsState& pods) {
    using enum lifecycle::State;
    if (job.is_deleted) return {"being deleted", Tone::held};
    if (job.state == suspended && !job.suspend) return {"resuming", Tone::held};
    if (job.state == suspended && job.is_queued) return {queued_word, Tone::held};
    if (job.state == running && job.suspend) return {"suspending", Tone::held};
    return job_state_of(job, pods);
}

std::string joined(std::string first, const std::string& second) {
    if (!first.empty() && !second.empty()) first += ", ";
    return first + second;
}

}  // namespace

std::string text_of(const JobState& state, api::Time now) {
    return joined(joined(std::string(state.word), state.detail), stopping_of(state, now));
}

std::string stopping_of(const JobState& state, api::Time now) {
    if (!state.grace_ends) return state.stopping;
    return state.stopping + " (" + format_duration(since(now, *state.grace_ends)) + " left)";
}

std::string detail_of(const JobState& state) { return joined(state.detail, state.stopping); }

JobStage stage_of(const api::TrainJob& job) {
    const api::Condition* created = api::find_condition(job.conditions, api::condition::created);
    const lifecycle::State state = lifecycle::state_of(job);
    const bool restarts =
        state == lifecycle::State::running && api::is_true(job.conditions, api::condition::restarting);
    return {.state = state,
            .is_stalled = api::is_true(job.conditions, api::condition::stalled),
            .lacks_verdict = created && created->status == "Unknown",
            .is_deleted = job.meta.deletion.has_value(),
            .suspend = job.suspend,
            .is_queued = !job.queue.empty(),
            .next_attempt = restarts ? std::optional(job.restarts.all) : std::nullopt,
            .nodes = job.spec["trainer"]["numNodes"].int_or(1)};
}

JobState job_state_of(const PodsState& pods) {
    switch (pods.what) {
        case PodsDo::unknown: return {"has its JobSet", Tone::good};
        case PodsDo::wait: return {"waits for its Pods", Tone::held};
        case PodsDo::run: return {"running", Tone::good};
        case PodsDo::fail: return {"fails and is retried", Tone::bad, pods.detail};
        case PodsDo::cannot_start: return {"cannot start", Tone::bad, pods.detail};
        case PodsDo::lost: return {"lost a node", Tone::bad, pods.detail};
    }
    return {"?", Tone::plain};
}

JobState job_state_of(const JobStage& job, const PodsState& pods) {
    switch (job.state) {
        case lifecycle::State::pending: return {"not looked at yet", Tone::held};
        case lifecycle::State::blocked:
            if (job.is_stalled) return {"stalled", Tone::bad};
            return job.lacks_verdict ? JobState{"not created yet, retried", Tone::held}
                                     : JobState{"cannot be created", Tone::bad};
        case lifecycle::State::running:
            if (!job.next_attempt) return job_state_of(pods);
            return {"restarting", Tone::held, "attempt " + std::to_string(*job.next_attempt)};
        case lifecycle::State::suspended: return {suspended_word, Tone::held};
        case lifecycle::State::complete: return {"complete", Tone::good};
        case lifecycle::State::failed: return {"failed", Tone::bad};
        case lifecycle::State::elsewhere: return {"managed by another controller", Tone::held};
    }
    return {"?", Tone::plain};
}

JobState activity_of(const JobStage& job, const PodsState& pods) {
    JobState state = transition_of(job, pods);
    const std::int64_t count = count_of_ending(job, pods);
    if (count == 0) return state;
    state.stopping = stopping_text(count, job.nodes, pods);
    if (!pods.is_late) state.grace_ends = pods.grace_ends;
    return state;
}

}  // namespace cli
