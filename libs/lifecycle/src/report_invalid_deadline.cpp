#include "report_invalid_deadline.hpp"

#include "api/progress.hpp"

namespace lifecycle {

void report_invalid_deadline(Conclusion& conclusion, const Observed& observed) {
    if (observed.progress_watch != ProgressWatch::deadlines || api::terminal_condition(*observed.job)) return;
    const auto errors = api::progress_deadline_errors(observed.job->progress_annotations);
    conclusion.retry_state.invalid_reported = !errors.empty();
    if (errors.empty() || observed.retry_state.invalid_reported) return;
    conclusion.events.push_back(
        warning_event(event_reason::progress_deadline_invalid, api::describe({errors.front()})));
}

}  // namespace lifecycle
