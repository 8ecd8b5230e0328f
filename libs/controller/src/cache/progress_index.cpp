#include "controller/cache/progress_index.hpp"

#include "api/hash.hpp"
#include "lifecycle/at_risk.hpp"
#include "lifecycle/progress_deadline.hpp"

namespace controller {
namespace {

using api::Json;

bool has_active_deadline(const api::TrainJob& job) {
    return job.active_deadline_seconds || (job.run_policy && (job.run_policy->active_deadline_seconds ||
                                                              job.run_policy->max_active_deadline_seconds));
}

std::uint64_t hash_of(const Json& object) {
    if (!object["metadata"].contains("generation")) return 0;
    return api::keyed_hash(api::to_json(object["metadata"]), api::to_json(object["status"]));
}

}  // namespace

ProgressIndex transform_progress(Json& object, const api::TrainJob& job, bool at_rest,
                                 lifecycle::ProgressWatch watch, api::Time now) {
    using lifecycle::ProgressWatch;
    if (Json* metadata = object.find("metadata")) metadata->erase("resourceVersion");
    Json* const status = object.find("status");
    Json* const found = status ? status->find("trainerStatus") : nullptr;
    Json report = found ? std::move(*found) : Json();
    if (found) status->erase("trainerStatus");
    ProgressIndex index = {.rest_hash = hash_of(object)};
    if (!at_rest) index.stalled = lifecycle::stall_reason_of(job);
    const lifecycle::Observed observed = {.job = job, .progress_watch = at_rest ? ProgressWatch::off : watch};
    const bool has_deadline = lifecycle::progress_deadlines(observed).has_value();
    if (has_deadline) {
        index.last_progress = job.trainer_status.last_progress;
        // Without its JobSet, which may be a new one: what was reported before all its Pods had started may
        // not count.
        const auto last = lifecycle::last_progress(observed);
        index.is_armed = last && (!job.attempt.began || *last >= *job.attempt.began);
        index.is_starting =
            job.restarts.all > 0 && job.attempt != api::Attempt() && !job.attempt.began.has_value();
    }
    index.is_at_risk = lifecycle::overrun(observed, now).has_value();
    if (!found || observed.progress_watch == ProgressWatch::off) return index;
    if (!has_deadline && !has_active_deadline(job)) return index;
    if (report.is_object()) report.members().erase_if([](const auto& m) { return m.key == "metrics"; });
    (*status)["trainerStatus"] = std::move(report);
    return index;
}

bool is_mere_report(const ProgressIndex& before, const ProgressIndex& after) {
    if (before.rest_hash == 0 || before.rest_hash != after.rest_hash) return false;
    const bool moves_on = after.last_progress != before.last_progress;
    const bool arms = (after.is_armed && !before.is_armed) || (after.is_starting && moves_on);
    const bool ends_stall = after.stalled && moves_on;
    return !arms && !ends_stall && before.is_at_risk == after.is_at_risk;
}

}  // namespace controller
