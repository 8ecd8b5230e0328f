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
using std::chrono::seconds;

// The limit and the action, or why they count as none.
ProgressDeadline wish_of(const api::ProgressAnnotations& wanted) {
    ProgressDeadline wish = {.action = wanted.action.value_or("Warn")};
    if (const auto limit = api::parse_progress_deadline(wanted))
        wish.seconds = limit->seconds;
    else
        wish.remark = "none: " + api::describe(api::progress_deadline_errors(wanted));
    return wish;
}

// Returns why the clock of the deadline does not run; empty: it does.
std::string not_armed(const RelatedObjects& seen, const api::TrainJob& job, const Progress& progress) {
    if (lifecycle::state_of(job) == lifecycle::State::elsewhere) return "another controller manages the job";
    if (job.suspend || !lifecycle::last_start(job.conditions, job.meta.creation))
        return "the job is suspended";
    if (!progress.reported) return "the job has not reported yet";
    const lifecycle::Observed observed = {.job = job,
                                          .job_set = api::parse_job_set(seen.job_set.found),
                                          .progress_watch = lifecycle::ProgressWatch::deadlines};
    return lifecycle::last_progress(observed) ? "" : "the job has not reported since its last start";
}

// Sets when the deadline passes. The Lease says since when reports have been accepted without interruption.
void set_end(ProgressDeadline& deadline, const RelatedObjects& seen, api::Time advanced, api::Time now) {
    const std::string lease = "the lease " + to_string(seen.progress_lease_key);
    api::Time base = advanced;
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
           !annotations[progress_action_annotation].is_null();
}

std::optional<ProgressDeadline> progress_deadline_of(const RelatedObjects& seen, const api::TrainJob& job,
                                                     api::Time now) {
    if (!has_progress_deadline(seen.job) || api::terminal_condition(job)) return std::nullopt;
    ProgressDeadline deadline = wish_of(job.progress_annotations);
    if (deadline.seconds == 0) return deadline;
    const Progress progress = progress_of(seen.job);
    deadline.remark = not_armed(seen, job, progress);
    deadline.armed = deadline.remark.empty();
    if (deadline.armed) set_end(deadline, seen, *progress.advanced, now);
    return deadline;
}

}  // namespace cli
