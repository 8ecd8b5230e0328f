#include "job/job_state.hpp"

#include "lifecycle/state.hpp"

namespace cli {
namespace {

bool lacks_verdict(const api::TrainJob& job) {
    const api::Condition* created = api::find_condition(job.conditions, api::condition::created);
    return created && created->status == "Unknown";
}

}  // namespace

JobState job_state_of(PodsRun pods) {
    switch (pods) {
        case PodsRun::unknown: return {"has its JobSet", Tone::good};
        case PodsRun::no: return {"waits for its Pods", Tone::held};
        case PodsRun::yes: return {"running", Tone::good};
    }
    return {"?", Tone::plain};
}

JobState job_state_of(const api::TrainJob& job, PodsRun pods) {
    switch (lifecycle::state_of(job)) {
        case lifecycle::State::pending: return {"not looked at yet", Tone::held};
        case lifecycle::State::blocked:
            if (api::is_true(job.conditions, api::condition::stalled)) return {"stalled", Tone::bad};
            return lacks_verdict(job) ? JobState{"not created yet, retried", Tone::held}
                                      : JobState{"cannot be created", Tone::bad};
        case lifecycle::State::running: return job_state_of(pods);
        case lifecycle::State::suspended: return {suspended_word, Tone::held};
        case lifecycle::State::complete: return {"complete", Tone::good};
        case lifecycle::State::failed: return {"failed", Tone::bad};
        case lifecycle::State::elsewhere: return {"managed by another controller", Tone::held};
    }
    return {"?", Tone::plain};
}

JobState activity_of(const api::TrainJob& job, PodsRun pods) {
    const lifecycle::State state = lifecycle::state_of(job);
    if (job.meta.deletion) return {"being deleted", Tone::held};
    if (state == lifecycle::State::suspended && !job.suspend) return {"resuming", Tone::held};
    if (state == lifecycle::State::suspended && !job.queue.empty()) return {"queued", Tone::held};
    if (state == lifecycle::State::running && job.suspend) return {"suspending", Tone::held};
    return job_state_of(job, pods);
}

}  // namespace cli
