#include "lifecycle/at_risk.hpp"

#include "duration.hpp"
#include "lifecycle/deadline.hpp"
#include "lifecycle/progress_deadline.hpp"
#include "reports.hpp"

namespace lifecycle {
namespace {

constexpr std::chrono::seconds tolerance{60};
constexpr std::int64_t part_of_rest = 20;  // 5 %

}  // namespace

std::optional<Overrun> overrun(const Observed& observed, api::Time now) {
    const api::TrainerStatus& status = observed.job->trainer_status;
    const auto has = time_left(observed, now);
    if (!has || !last_progress(observed) || !status.remaining_seconds || !status.last_updated)
        return std::nullopt;
    // A time ahead of this clock counts as now.
    const auto age = std::max(now - *status.last_updated, std::chrono::seconds(0));
    const auto needs = std::chrono::seconds(*status.remaining_seconds) - age;
    const bool is_at_risk = needs - *has > *has / part_of_rest + tolerance;
    return is_at_risk ? std::optional(Overrun{.needs = needs, .has = *has}) : std::nullopt;
}

void report_at_risk(Conclusion& conclusion, const Observed& observed, api::Time now) {
    const auto late = overrun(observed, now);
    conclusion.retry_state.is_at_risk = late.has_value();
    if (!late || observed.retry_state.is_at_risk) return;
    conclusion.events.push_back(warning_event(
        event_reason::deadline_at_risk, "will not finish before its deadline: needs " + to_text(late->needs) +
                                            ", has " + to_text(late->has) + " left"));
}

}  // namespace lifecycle
