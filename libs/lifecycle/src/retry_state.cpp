#include "retry_state.hpp"

#include <algorithm>
#include <limits>

#include "duration.hpp"
#include "lifecycle/refusal.hpp"
#include "lifecycle/requeue.hpp"

namespace lifecycle {
namespace {

constexpr std::chrono::seconds lasting{15};
constexpr std::chrono::minutes text_lasts{1};
constexpr std::chrono::minutes second_warning{5};
// The API server forgets events after an hour.
constexpr std::chrono::minutes warned_again{30};

api::Time next_warning(const RetryState& retry_state) {
    const api::Time since = *retry_state.errors_since;
    if (!retry_state.warned) return since + lasting;
    return *retry_state.warned < since + second_warning ? since + second_warning
                                                        : *retry_state.warned + warned_again;
}

}  // namespace

RetryState one_more_failure(const RetryState& before, api::Time now) {
    // If the clock was set back, the failure counts.
    const bool early = before.failures > 0 && before.waits_until && now < *before.waits_until &&
                       now >= *before.waits_until - backoff(before.failures);
    const int failures =
        std::clamp(before.failures, 0, std::numeric_limits<int>::max() - 1) + (early ? 0 : 1);
    return {.failures = failures, .waits_until = now + backoff(failures)};
}

void retry(Conclusion& conclusion, const RetryState& before, const api::Error& error, api::Time now) {
    conclusion.retry_state = one_more_failure(before, now);
    conclusion.retry_state.errors_since = before.errors_since.value_or(before.began.value_or(now));
    conclusion.retry_state.warned = before.warned;
    conclusion.retry_state.stated = before.stated;
    conclusion.requeue_after = sooner(conclusion.requeue_after,
                                      error.retry_after.value_or(backoff(conclusion.retry_state.failures)));
}

void report_error(Conclusion& conclusion, const RetryState& before, const std::string& object,
                  const api::Error& error, api::Time now) {
    retry(conclusion, before, error, now);
    RetryState& retry_state = conclusion.retry_state;
    if (now >= next_warning(retry_state)) {
        retry_state.warned = now;
        conclusion.events.push_back(
            warning_event(event_reason::reconcile_error, object + ": " + api::describe(error)));
    }
    if (obstacle_of(error) != Obstacle::passing)
        retry_state.obstructed_since = before.obstructed_since.value_or(before.began.value_or(now));
    // A server that has asked for a pause gets no earlier request.
    if (error.retry_after) return;
    conclusion.requeue_after = sooner(conclusion.requeue_after, time_until(next_warning(retry_state), now));
    if (retry_state.obstructed_since && !has_lasted(before, now))
        conclusion.requeue_after =
            sooner(conclusion.requeue_after, time_until(*retry_state.obstructed_since + lasting, now));
}

bool has_lasted(const RetryState& before, api::Time now) {
    return before.obstructed_since && now - *before.obstructed_since >= lasting;
}

bool may_state_again(const RetryState& retry_state, const api::Condition& stored,
                     const api::Condition& wanted, api::Time now) {
    // JobsCreating announces an attempt and is no cause: any error replaces it.
    if (!retry_state.stated || !is_open(stored) || stored.reason == api::reason::jobs_creating) return true;
    const bool same = stored.status == wanted.status && stored.reason == wanted.reason;
    return now >= *retry_state.stated + (same ? std::chrono::seconds(text_lasts) : lasting);
}

}  // namespace lifecycle
