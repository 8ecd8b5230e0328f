#include "explain/progress.hpp"

#include <algorithm>

#include "api/names.hpp"
#include "api/progress.hpp"
#include "job/brief.hpp"
#include "lifecycle/deadline.hpp"
#include "lifecycle/progress_deadline.hpp"
#include "lifecycle/state.hpp"

namespace cli {
namespace {

using api::Json;
using api::progress_action_annotation;
using api::progress_seconds_annotation;
using api::start_seconds_annotation;
using std::chrono::seconds;

lifecycle::Observed observed_of(const RelatedObjects& seen, const api::TrainJob& job) {
    return {.job = job,
            .job_set = api::parse_job_set(seen.job_set.found),
            .progress_watch = lifecycle::ProgressWatch::deadlines};
}

// Returns why the clock of neither deadline runs; empty: one may.
std::string at_rest(const api::TrainJob& job) {
    if (lifecycle::state_of(job) == lifecycle::State::elsewhere) return "another controller manages the job";
    const bool suspended = job.suspend || !lifecycle::last_start(job.conditions, job.meta.creation);
    return suspended ? "the job is suspended" : "";
}

// Returns why the clock of the progress deadline does not run; empty: it does.
std::string not_armed(const RelatedObjects& seen, const api::TrainJob& job, const Progress& progress) {
    if (std::string why = at_rest(job); !why.empty()) return why;
    if (!progress.reported) return "the job has not reported yet";
    return lifecycle::last_progress(observed_of(seen, job)) ? ""
                                                            : "the job has not reported since its last start";
}

// Sets when the deadline passes. The Lease says since when reports have been accepted without interruption.
void set_end(ProgressDeadline& deadline, const RelatedObjects& seen, api::Time since, api::Time now) {
    const std::string lease = "the lease " + to_string(seen.progress_lease_key);
    api::Time base = since;
    if (seen.progress_lease.is_unread()) {
        deadline.remark = "or later: " + lease + " could not be read";
    } else {
        const auto availability = lifecycle::availability_of(seen.progress_lease.found);
        if (!lifecycle::is_valid(availability, now)) {
            deadline.remark = "no server of progress renews " + lease;
            return;
        }
        base = std::max(base, *availability.since);
    }
    deadline.passes = base + seconds(deadline.seconds) + lifecycle::progress_grace;
}

}  // namespace

bool has_progress_deadline(const Json& train_job) {
    const Json& annotations = train_job["metadata"]["annotations"];
    return !annotations[progress_seconds_annotation].is_null() ||
           !annotations[progress_action_annotation].is_null() ||
           !annotations[start_seconds_annotation].is_null();
}

std::optional<ProgressDeadline> progress_deadline_of(const RelatedObjects& seen, const api::TrainJob& job,
                                                     api::Time now) {
    if (!has_progress_deadline(seen.job) || api::terminal_condition(job)) return std::nullopt;
    const api::ProgressAnnotations& wanted = job.progress_annotations;
    ProgressDeadline deadline = {.action = wanted.action.value_or("Warn")};
    const auto limits = api::parse_progress_deadlines(wanted);
    if (!limits) {
        deadline.remark = "none: " + api::describe(api::progress_deadline_errors(wanted));
        return deadline;
    }
    if (!limits->progress) return std::nullopt;
    deadline.seconds = *limits->progress;
    const Progress progress = progress_of(seen.job);
    deadline.remark = not_armed(seen, job, progress);
    deadline.armed = deadline.remark.empty();
    if (deadline.armed) set_end(deadline, seen, *progress.advanced, now);
    return deadline;
}

std::optional<ProgressDeadline> start_deadline_of(const RelatedObjects& seen, const api::TrainJob& job,
                                                  api::Time now) {
    const auto limits = api::parse_progress_deadlines(job.progress_annotations);
    const lifecycle::Observed observed = observed_of(seen, job);
    if (!limits || !limits->start || api::terminal_condition(job) || lifecycle::last_progress(observed))
        return std::nullopt;
    ProgressDeadline deadline = {.seconds = *limits->start,
                                 .action = job.progress_annotations.action.value_or("Warn"),
                                 .remark = at_rest(job)};
    const auto waits = lifecycle::awaited(observed);
    deadline.armed = waits.has_value();
    if (waits)
        set_end(deadline, seen, waits->since, now);
    else if (deadline.remark.empty())
        deadline.remark = "not all Pods have started";
    return deadline;
}

}  // namespace cli
