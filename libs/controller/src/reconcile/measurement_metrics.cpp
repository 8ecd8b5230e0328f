#include "controller/reconcile/measurement_metrics.hpp"

namespace controller {
namespace {

using lifecycle::AttemptEnd;
using lifecycle::End;
using lifecycle::Measurements;
using lifecycle::TtlFrom;
using lifecycle::TtlHeld;

struct AmountRow {
    const char* name;
    const char* help;
    net::Labels labels;
    MeasurementMetrics::Amount of;
};

struct TimeRow {
    const char* name;
    const char* help;
    std::vector<double> bounds;
    net::Labels labels;
    MeasurementMetrics::Time of;
};

// One if the member has that value.
template <typename Value>
MeasurementMetrics::Amount is(std::optional<Value> Measurements::*member, Value value) {
    return [=](const Measurements& made) { return made.*member == value ? 1 : 0; };
}

// The duration of a job that has ended in this way.
MeasurementMetrics::Time run_until(End end) {
    return [=](const Measurements& made) { return made.end == end ? made.run : std::nullopt; };
}

// The duration of an attempt that has ended in this way.
MeasurementMetrics::Time attempt_until(AttemptEnd end) {
    return [=](const Measurements& made) { return made.attempt_end == end ? made.attempt : std::nullopt; };
}

// Returns the restarts of this cause that count towards a maximum, or the others.
MeasurementMetrics::Amount restarts_of(lifecycle::RestartCause cause, bool counted) {
    return [=](const Measurements& made) {
        if (made.restart_cause != cause) return 0.0;
        const api::Restarts& restarts = made.restarted;
        return static_cast<double>(counted ? restarts.counted : restarts.all - restarts.counted);
    };
}

void add_restarts(std::vector<AmountRow>& rows) {
    using enum lifecycle::RestartCause;
    constexpr std::pair<lifecycle::RestartCause, const char*> causes[] = {{failure, "failure"},
                                                                          {infrastructure, "infrastructure"},
                                                                          {hang, "hang"},
                                                                          {no_node, "no_node"},
                                                                          {job_set, "job_set"}};
    for (const auto& [cause, name] : causes)
        for (const bool counted : {true, false})
            rows.push_back(
                {"signalbox_restarts_total",
                 "Restarts of TrainJobs, by whether they count towards a maximum, and by their cause.",
                 {{"counted", counted ? "true" : "false"}, {"reason", name}},
                 restarts_of(cause, counted)});
}

std::vector<AmountRow> amounts() {
    const auto ended = "signalbox_train_jobs_ended_total";
    const auto of_ended = "TrainJobs that have ended, by how.";
    const auto expired = "signalbox_ttl_deletions_total";
    const auto of_expired = "TrainJobs that were deleted as their time to live had passed, by whose it was.";
    const auto held = "signalbox_ttl_held_total";
    const auto of_held = "TrainJobs that stay although by the caches their time to live has passed, by why.";
    std::vector<AmountRow> rows = {
        {ended, of_ended, {{"end", "complete"}}, is(&Measurements::end, End::complete)},
        {ended, of_ended, {{"end", "failed"}}, is(&Measurements::end, End::failed)},
        {ended, of_ended, {{"end", "deadline"}}, is(&Measurements::end, End::deadline)},
        {ended, of_ended, {{"end", "unsupported_runtime"}}, is(&Measurements::end, End::unsupported_runtime)},
        {ended, of_ended, {{"end", "progress_deadline"}}, is(&Measurements::end, End::progress_deadline)},
        {expired, of_expired, {{"from", "train_job"}}, is(&Measurements::expired, TtlFrom::train_job)},
        {expired, of_expired, {{"from", "runtime"}}, is(&Measurements::expired, TtlFrom::runtime)},
        {held, of_held, {{"why", "multikueue"}}, is(&Measurements::held, TtlHeld::multikueue)},
        {held, of_held, {{"why", "live"}}, is(&Measurements::held, TtlHeld::live)},
        {"signalbox_nodes_excluded_total",
         "Failures of TrainJobs after which later attempts avoid the node.",
         {},
         [](const Measurements& made) { return made.excludes_node; }},
        {"signalbox_clean_up_failures_total",
         "Ended TrainJobs or their JobSets that could not be deleted; each is tried again.",
         {},
         [](const Measurements& made) { return made.clean_up_failed; }},
        {"signalbox_progress_lease_ahead_total",
         "Looks at the Lease of the server of progress reports that found it more than a minute ahead of "
         "this clock, so that no progress deadline was decided.",
         {},
         is(&Measurements::lease_is_ahead, true)},
    };
    add_restarts(rows);
    return rows;
}

std::vector<TimeRow> times() {
    // Times in the API are whole seconds. Zero is a bucket of its own, since quantiles are interpolated
    // within a bucket.
    const std::vector<double> bounds = {0, 1, 2, 5, 10, 30, 60, 300, 1800};
    // Bounds for the duration of training, from half a minute to four weeks.
    const std::vector<double> long_bounds = {30,    120,   600,    3600,   14400,
                                             43200, 86400, 259200, 604800, 2419200};
    const auto run = "signalbox_run_seconds";
    const auto of_run = "From the last start of a TrainJob to its end, by how it ended.";
    const auto attempt = "signalbox_attempt_seconds";
    const auto of_attempt = "From the start of all Pods of an attempt to its end, by what followed.";
    return {
        {"signalbox_time_to_job_set_seconds",
         "From the creation of a TrainJob to that of its first JobSet.",
         bounds,
         {},
         &Measurements::to_job_set},
        {"signalbox_time_to_terminal_seconds",
         "From the end of a JobSet until its TrainJob says so.",
         bounds,
         {},
         &Measurements::to_terminal},
        {"signalbox_deadline_lateness_seconds",
         "How long after its deadline a TrainJob was ended.",
         bounds,
         {},
         &Measurements::deadline_late},
        {"signalbox_ttl_lateness_seconds",
         "How long after its time to live a TrainJob was deleted.",
         bounds,
         {},
         &Measurements::ttl_late},
        {"signalbox_wait_seconds",
         "From the creation of a TrainJob to each of its starts.",
         long_bounds,
         {},
         &Measurements::wait},
        {run, of_run, long_bounds, {{"end", "complete"}}, run_until(End::complete)},
        {run, of_run, long_bounds, {{"end", "failed"}}, run_until(End::failed)},
        {run, of_run, long_bounds, {{"end", "deadline"}}, run_until(End::deadline)},
        {run, of_run, long_bounds, {{"end", "unsupported_runtime"}}, run_until(End::unsupported_runtime)},
        {run, of_run, long_bounds, {{"end", "progress_deadline"}}, run_until(End::progress_deadline)},
        {attempt, of_attempt, long_bounds, {{"end", "complete"}}, attempt_until(AttemptEnd::complete)},
        {attempt, of_attempt, long_bounds, {{"end", "failed"}}, attempt_until(AttemptEnd::failed)},
        {attempt, of_attempt, long_bounds, {{"end", "restarted"}}, attempt_until(AttemptEnd::restarted)},
    };
}

}  // namespace

MeasurementMetrics::MeasurementMetrics(net::Metrics& metrics) {
    for (AmountRow& row : amounts())
        amounts_.emplace_back(metrics.counter(row.name, row.help, row.labels), std::move(row.of));
    for (TimeRow& row : times())
        times_.emplace_back(metrics.histogram(row.name, row.help, row.bounds, row.labels), std::move(row.of));
}

void MeasurementMetrics::count(const Measurements& made) {
    for (auto& [series, amount_of] : amounts_) series.add(amount_of(made));
    for (auto& [series, time_of] : times_)
        if (const auto time = time_of(made)) series.observe(static_cast<double>(time->count()));
}

}  // namespace controller
