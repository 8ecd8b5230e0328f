#include "job/job_state.hpp"

namespace cli {
namespace {

std::string stopping(const PodsState& pods) {
    if (pods.unfinished == 0) return "";
    const std::string time = time_to_stop(pods);
    return time.empty() ? "stopping" : "stopping, " + time;
}

}  // namespace

std::string text_of(const JobState& state) {
    return std::string(state.word) + (state.detail.empty() ? "" : ", " + state.detail);
}

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
            .next_attempt = restarts ? std::optional(job.restarts.all) : std::nullopt};
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
        case lifecycle::State::suspended: return {suspended_word, Tone::held, stopping(pods)};
        case lifecycle::State::complete: return {"complete", Tone::good, stopping(pods)};
        case lifecycle::State::failed: return {"failed", Tone::bad, stopping(pods)};
        case lifecycle::State::elsewhere: return {"managed by another controller", Tone::held};
    }
    return {"?", Tone::plain};
}

JobState activity_of(const JobStage& job, const PodsState& pods) {
    using enum lifecycle::State;
    const bool goes_on = pods.unfinished > 0;
    if (job.is_deleted) return {"being deleted", Tone::held, stopping(pods)};
    if (job.state == suspended && !job.suspend) return {"resuming", Tone::held};
    if ((job.state == suspended && goes_on) || (job.state == running && job.suspend))
        return {"suspending", Tone::held, goes_on ? time_to_stop(pods) : ""};
    if (job.state == suspended && job.is_queued) return {queued_word, Tone::held};
    return job_state_of(job, pods);
}

}  // namespace cli
