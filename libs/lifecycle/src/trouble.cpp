#include "trouble.hpp"

#include <algorithm>
#include <limits>

#include "lifecycle/requeue.hpp"

namespace lifecycle {
namespace {

constexpr std::chrono::seconds lasting{60};

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
    conclusion.requeue_after =
        sooner(conclusion.requeue_after, error.retry_after.value_or(backoff(conclusion.episode.failures)));
}

void report_trouble(Conclusion& conclusion, const Episode& before, const std::string& object,
                    const api::Error& error, api::Time now) {
    retry(conclusion, before, error, now);
    Episode& episode = conclusion.episode;
    if (episode.told || now - *episode.trouble_since <= lasting) return;
    episode.told = true;
    conclusion.events.push_back(
        warning_event(event_reason::reconcile_error, object + ": " + api::describe(error)));
}

}  // namespace lifecycle
