#include "reports.hpp"

namespace lifecycle {
namespace {

Event event_about(const api::JobSet& job_set) {
    const std::string queue = "the queue " + job_set.queue;
    if (job_set.suspend)
        return normal_event(event_reason::waiting_for_queue,
                            "Kueue has suspended the JobSet, and resumes it once it is admitted by " + queue);
    return warning_event(
        event_reason::resumed_by_queue,
        "Kueue has resumed the JobSet although the TrainJob is suspended, since the JobSet is in " + queue +
            " itself. To hold it, set spec.active of its Workload to false, or put the label of "
            "the queue onto TrainJobs instead of their runtime");
}

}  // namespace

void report_queue(Conclusion& conclusion, const Observed& observed, const Decision& decision) {
    conclusion.retry_state.queue_reported =
        observed.retry_state.queue_reported && std::holds_alternative<StoreTransition>(decision);
    if (!std::holds_alternative<Run>(decision)) return;
    const api::JobSet* job_set = own_job_set(observed);
    const bool differs =
        is_left_to_queue(observed) && !job_set->meta.deletion && job_set->suspend != observed.job->suspend;
    conclusion.retry_state.queue_reported = differs;
    if (differs && !observed.retry_state.queue_reported) conclusion.events.push_back(event_about(*job_set));
}

}  // namespace lifecycle
