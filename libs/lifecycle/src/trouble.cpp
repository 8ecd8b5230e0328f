#include "trouble.hpp"

#include <algorithm>
#include <limits>

#include "lifecycle/requeue.hpp"

namespace lifecycle {
namespace {

constexpr std::chrono::seconds lasting{60};

}  // namespace

int one_more_failure(const Episode& before) {
    return std::clamp(before.failures, 0, std::numeric_limits<int>::max() - 1) + 1;
}

void retry(Conclusion& conclusion, const Episode& before, const api::Error& error, api::Time now) {
    conclusion.episode = {.failures = one_more_failure(before),
                          .trouble_since = before.trouble_since.value_or(now),
                          .told = before.told};
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
