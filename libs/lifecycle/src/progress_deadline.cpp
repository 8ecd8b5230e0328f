#include "lifecycle/progress_deadline.hpp"

#include <algorithm>

#include "api/text.hpp"
#include "duration.hpp"
#include "lifecycle/deadline.hpp"
#include "lifecycle/requeue.hpp"

namespace lifecycle {
namespace {

constexpr std::size_t most_characters = 64;

// Returns the end of the limit that begins at `base`, with the time that a report may wait.
api::Time passes_at(api::Time base, const api::ProgressDeadline& limit) {
    return saturating_add(base, limit.seconds + progress_grace.count());
}

// Returns when the limit ends by the last progress alone, without the Lease.
std::optional<api::Time> due(const Observed& observed) {
    const auto limit = progress_deadline(observed);
    const auto last = last_progress(observed);
    return limit && last ? std::optional(passes_at(*last, *limit)) : std::nullopt;
}

// Reports of an attempt say nothing of the next one, which needs its time to begin. A JobSet that was read
// before the TrainJob may be of the attempt before.
std::optional<api::Time> start_of_progress(const Observed& observed) {
    const auto start = clock_start(observed);
    const api::TrainJob& job = *observed.job;
    const api::JobSet* job_set = own_job_set(observed);
    if (api::is_true(job.conditions, api::condition::restarting)) return std::nullopt;
    const bool has_attempts = (job_set && job_set->is_attempt) || job.attempt != api::Attempt();
    const bool is_first = job.restarts.all == 0 && (!job_set || job_set->restarts.all == 0);
    if (!start || !has_attempts || is_first) return start;
    return job.attempt.began ? std::optional(std::max(*start, *job.attempt.began)) : std::nullopt;
}

bool is_due(const Observed& observed, api::Time now) {
    const auto time = due(observed);
    return time && now >= *time;
}

api::Time base_of(const Observed& observed) {
    return std::max(*last_progress(observed), observed.availability->since.value_or(api::Time()));
}

std::string values_of(const api::TrainerStatus& status) {
    std::string values;
    const auto add = [&](const std::string& value) { values += (values.empty() ? "" : ", ") + value; };
    if (status.percentage) add(std::to_string(*status.percentage) + " %");
    for (const auto& [name, value] : status.metrics)
        add(api::printable(api::cut_characters(name, most_characters)) + "=" +
            api::printable(api::cut_characters(value, most_characters)));
    return values;
}

}  // namespace

Availability availability_of(const api::Json& lease) {
    const api::Json& spec = lease["spec"];
    return {.since = api::as_time(spec["acquireTime"].as_string()),
            .renewed = api::as_time(spec["renewTime"].as_string())};
}

bool is_ahead(const Availability& availability, api::Time now) {
    return std::max(availability.since, availability.renewed) > now + availability_lasts;
}

// A time that is far ahead of this clock does not show that the server accepted reports in the last minute.
bool is_valid(const Availability& availability, api::Time now) {
    return availability.since && availability.renewed && !is_ahead(availability, now) &&
           now - *availability.renewed <= availability_lasts;
}

std::optional<api::Time> last_progress(const Observed& observed) {
    const api::TrainJob& job = *observed.job;
    if (observed.progress_watch == ProgressWatch::off || !api::is_managed_here(job) ||
        api::terminal_condition(job))
        return std::nullopt;
    const auto start = start_of_progress(observed);
    const auto& last = job.trainer_status.last_progress;
    return start && last && *last >= *start ? last : std::nullopt;
}

std::optional<api::ProgressDeadline> progress_deadline(const Observed& observed) {
    if (observed.progress_watch != ProgressWatch::deadlines) return std::nullopt;
    return api::parse_progress_deadline(observed.job->progress_annotations);
}

bool wants_availability(const Observed& observed, api::Time now) {
    if (!observed.job || !is_due(observed, now)) return false;
    const api::JobSet* job_set = own_job_set(observed);
    if (job_set && job_set->finished) return false;
    return progress_deadline(observed)->action == api::ProgressAction::fail ||
           !is_stalled_by_progress(*observed.job);
}

bool has_passed_progress_deadline(const Observed& observed, api::Time now) {
    return wants_availability(observed, now) && observed.availability &&
           is_valid(*observed.availability, now) &&
           now >= passes_at(base_of(observed), *progress_deadline(observed));
}

bool exceeds_progress_deadline(const Observed& observed, api::Time now) {
    return !observed.clock_is_uncertain && has_passed_progress_deadline(observed, now);
}

std::optional<std::chrono::seconds> next_progress_look(const Observed& observed, api::Time now) {
    const auto first = due(observed);
    if (!first) return std::nullopt;
    if (now < *first) return time_until(*first, now);
    // By an uncertain clock, what is stalled may not be due any more.
    if (observed.clock_is_uncertain && is_stalled_by_progress(*observed.job)) return clock_recheck;
    if (!wants_availability(observed, now) || !observed.availability) return std::nullopt;
    if (!is_valid(*observed.availability, now)) return availability_looked_at;
    const api::Time end = passes_at(base_of(observed), *progress_deadline(observed));
    if (now < end) return time_until(end, now);
    if (observed.clock_is_uncertain) return clock_recheck;
    return observed.is_live ? std::nullopt : std::optional(min_requeue);
}

std::string no_progress_text(const Observed& observed, api::Time now) {
    const api::TrainerStatus& status = observed.job->trainer_status;
    const auto limit = std::chrono::seconds(progress_deadline(observed)->seconds);
    std::string text =
        "no progress for " + to_text(now - base_of(observed)) + " (limit " + to_text(limit) + ")";
    if (const std::string values = values_of(status); !values.empty()) text += ": " + values;
    if (status.last_updated)
        text += "; last report " + to_text(std::max(now - *status.last_updated, std::chrono::seconds(0))) +
                " ago";
    return text;
}

bool is_stalled_by_progress(const api::TrainJob& job) {
    const api::Condition* stalled = api::find_condition(job.conditions, api::condition::stalled);
    return stalled && stalled->reason == api::reason::progress_deadline_exceeded;
}

std::optional<std::string> progress_stall(const Observed& observed, api::Time now) {
    if (!is_due(observed, now)) return std::nullopt;
    if (is_stalled_by_progress(*observed.job))
        return api::find_condition(observed.job->conditions, api::condition::stalled)->message;
    if (!observed.is_live || !exceeds_progress_deadline(observed, now)) return std::nullopt;
    return no_progress_text(observed, now);
}

// The condition was stored after the limit and grace of the earlier progress, so newer progress is after
// that.
bool has_resumed_progress(const Observed& observed) {
    const auto last = last_progress(observed);
    if (!last || !is_stalled_by_progress(*observed.job)) return false;
    const api::Condition* stalled = api::find_condition(observed.job->conditions, api::condition::stalled);
    return *last > stalled->last_transition - 2 * progress_grace;
}

}  // namespace lifecycle
