#include "trouble.hpp"

#include <algorithm>
#include <limits>

#include "lifecycle/requeue.hpp"
#include "saturate.hpp"

namespace lifecycle {
namespace {

constexpr std::chrono::seconds lasting{15};
constexpr std::chrono::minutes second_warning{5};
// The API server forgets events after an hour.
constexpr std::chrono::minutes warned_again{30};

api::Time next_warning(const Episode& episode) {
    const api::Time since = *episode.trouble_since;
    if (!episode.told) return since + lasting;
    return *episode.told < since + second_warning ? since + second_warning : *episode.told + warned_again;
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
    conclusion.episode.trouble_since = before.trouble_since.value_or(now);
    conclusion.episode.told = before.told;
    conclusion.episode.stated = before.stated;
    conclusion.requeue_after =
        sooner(conclusion.requeue_after, error.retry_after.value_or(backoff(conclusion.episode.failures)));
}

void report_trouble(Conclusion& conclusion, const Episode& before, const std::string& object,
                    const api::Error& error, api::Time now) {
    retry(conclusion, before, error, now);
    Episode& episode = conclusion.episode;
    if (now >= next_warning(episode)) {
        episode.told = now;
        conclusion.events.push_back(
            warning_event(event_reason::reconcile_error, object + ": " + api::describe(error)));
    }
    // A server that has asked for a pause gets it.
    if (!error.retry_after)
        conclusion.requeue_after = sooner(conclusion.requeue_after, time_until(next_warning(episode), now));
}

bool has_lasted(const Episode& episode, api::Time now) {
    return episode.trouble_since && now - *episode.trouble_since >= lasting;
}

}  // namespace lifecycle
