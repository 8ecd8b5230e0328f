#include "trouble.hpp"

#include <algorithm>
#include <limits>

#include "lifecycle/refusal.hpp"
#include "lifecycle/requeue.hpp"
#include "saturate.hpp"

namespace lifecycle {
namespace {

constexpr std::chrono::seconds lasting{15};
constexpr std::chrono::minutes text_lasts{1};
constexpr std::chrono::minutes second_warning{5};
// The API server forgets events after an hour.
constexpr std::chrono::minutes warned_again{30};

api::Time next_warning(const Episode& episode) {
    const api::Time since = *episode.trouble_since;
    if (!episode.warned) return since + lasting;
    return *episode.warned < since + second_warning ? since + second_warning : *episode.warned + warned_again;
}

}  // namespace

Episode one_more_failure(const Episode& before, api::Time now) {
    // A clock that was set back says nothing.
    const bool early = before.failures > 0 && before.waits_until && now < *before.waits_until &&
                       now >= *before.waits_until - backoff(before.failures);
    const int failures =
        std::clamp(before.failures, 0, std::numeric_limits<int>::max() - 1) + (early ? 0 : 1);
    return {.failures = failures, .waits_until = now + backoff(failures)};
}

void retry(Conclusion& conclusion, const Episode& before, const api::Error& error, api::Time now) {
    conclusion.episode = one_more_failure(before, now);
    conclusion.episode.trouble_since = before.trouble_since.value_or(before.began.value_or(now));
    conclusion.episode.warned = before.warned;
    conclusion.episode.stated = before.stated;
    conclusion.requeue_after =
        sooner(conclusion.requeue_after, error.retry_after.value_or(backoff(conclusion.episode.failures)));
}

void report_trouble(Conclusion& conclusion, const Episode& before, const std::string& object,
                    const api::Error& error, api::Time now) {
    retry(conclusion, before, error, now);
    Episode& episode = conclusion.episode;
    if (now >= next_warning(episode)) {
        episode.warned = now;
        conclusion.events.push_back(
            warning_event(event_reason::reconcile_error, object + ": " + api::describe(error)));
    }
    if (obstacle_of(error) != Obstacle::passing)
        episode.obstructed_since = before.obstructed_since.value_or(before.began.value_or(now));
    // A server that has asked for a pause gets it.
    if (error.retry_after) return;
    conclusion.requeue_after = sooner(conclusion.requeue_after, time_until(next_warning(episode), now));
    if (episode.obstructed_since && !has_lasted(before, now))
        conclusion.requeue_after =
            sooner(conclusion.requeue_after, time_until(*episode.obstructed_since + lasting, now));
}

bool has_lasted(const Episode& before, api::Time now) {
    return before.obstructed_since && now - *before.obstructed_since >= lasting;
}

bool may_state_again(const Episode& episode, const api::Condition& stored, const api::Condition& wanted,
                     api::Time now) {
    if (!episode.stated || !tells_of_trouble(stored)) return true;
    const bool same = stored.status == wanted.status && stored.reason == wanted.reason;
    return now >= *episode.stated + (same ? std::chrono::seconds(text_lasts) : lasting);
}

}  // namespace lifecycle
