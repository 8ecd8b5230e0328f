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
api::Time passes_at(api::Time base, const Awaited& waits) {
    return saturating_add(base, waits.limit + progress_grace.count());
}

// Returns when the limit ends by the status alone, without the Lease.
std::optional<api::Time> due(const Observed& observed) {
    const auto waits = awaited(observed);
    return waits ? std::optional(passes_at(waits->since, *waits)) : std::nullopt;
}

bool had_attempts(const api::Attempt& attempt) {
    return attempt.next || attempt.failures > 0 || attempt.uncounted_failures > 0;
}

// Reports of an attempt say nothing of the next one. Only Pods of the present JobSet may report, and they are
// made after it.
std::optional<api::Time> start_of_reports(const Observed& observed) {
    const auto start = clock_start(observed);
    const api::TrainJob& job = *observed.job;
    if (!start || api::is_true(job.conditions, api::condition::restarting)) return std::nullopt;
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set && had_attempts(job.attempt) && job.restarts.all > 0)
        return job.attempt.began ? std::optional(std::max(*start, *job.attempt.began)) : std::nullopt;
    if (!job_set) return start;
    // Kueue suspends and resumes it without the TrainJob: what it reported before it was held back does not
    // count.
    if (is_in_own_queue(job, job_set->queue)) return all_started_since(observed);
    if (!job_set->is_attempt) return start;
    // One that was read before the TrainJob may be of the attempt before.
    if (job_set->restarts.all != job.restarts.all) return std::nullopt;
    if (job.restarts.all == 0) return start;
    return std::max(*start, job_set->meta.creation);
}

// Returns since when reports count; empty if none does.
std::optional<api::Time> reports_count_since(const Observed& observed) {
    const api::TrainJob& job = *observed.job;
    if (observed.progress_watch == ProgressWatch::off || !api::is_managed_here(job) ||
        api::terminal_condition(job))
        return std::nullopt;
    return start_of_reports(observed);
}

// Returns since when a first report is waited for: all Pods have started, and nothing takes them away.
std::optional<api::Time> start_of_silence(const Observed& observed) {
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set || job_set->suspend || job_set->meta.deletion || !reports_count_since(observed))
        return std::nullopt;
    return all_started_since(observed);
}

bool is_due(const Observed& observed, api::Time now) {
    const auto time = due(observed);
    return time && now >= *time;
}

api::Time base_of(const Awaited& waits, const Availability& availability) {
    return std::max(waits.since, availability.since.value_or(api::Time()));
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
    const auto start = reports_count_since(observed);
    const auto& last = observed.job->trainer_status.last_progress;
    return start && last && *last >= *start ? last : std::nullopt;
}

std::optional<api::ProgressDeadlines> progress_deadlines(const Observed& observed) {
    if (observed.progress_watch != ProgressWatch::deadlines) return std::nullopt;
    return api::parse_progress_deadlines(observed.job->progress_annotations);
}

std::optional<Awaited> awaited(const Observed& observed) {
    using enum Awaited::What;
    const auto limits = progress_deadlines(observed);
    if (!limits) return std::nullopt;
    const auto last = last_progress(observed);
    const auto limit = last ? limits->progress : limits->start;
    const auto since = last ? last : start_of_silence(observed);
    if (!limit || !since) return std::nullopt;
    return Awaited{.what = last ? progress : first_report, .since = *since, .limit = *limit};
}

bool wants_availability(const Observed& observed, api::Time now) {
    if (!observed.job || !is_due(observed, now)) return false;
    const api::JobSet* job_set = own_job_set(observed);
    if (job_set && job_set->finished) return false;
    return progress_deadlines(observed)->action != api::ProgressAction::warn ||
           !is_stalled_by_progress(*observed.job);
}

bool has_passed_progress_deadline(const Observed& observed, api::Time now) {
    if (!wants_availability(observed, now) || !observed.availability) return false;
    const Awaited waits = *awaited(observed);
    return is_valid(*observed.availability, now) &&
           now >= passes_at(base_of(waits, *observed.availability), waits);
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
    const Awaited waits = *awaited(observed);
    const api::Time end = passes_at(base_of(waits, *observed.availability), waits);
    if (now < end) return time_until(end, now);
    if (observed.clock_is_uncertain) return clock_recheck;
    return observed.is_live ? std::nullopt : std::optional(min_requeue);
}

std::string overdue_text(const Observed& observed, api::Time now) {
    const api::TrainerStatus& status = observed.job->trainer_status;
    const Awaited waits = *awaited(observed);
    const std::string limit = " (limit " + to_text(std::chrono::seconds(waits.limit)) + ")";
    if (waits.what == Awaited::What::first_report)
        return "no report for " + to_text(now - waits.since) + " since all Pods had started" + limit;
    std::string text = "no progress for " + to_text(now - base_of(waits, *observed.availability)) + limit;
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
    return overdue_text(observed, now);
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
