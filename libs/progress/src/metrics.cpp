#include "progress/metrics.hpp"

#include <string>
#include <vector>

namespace progress {
namespace {

using Seconds = std::chrono::duration<double>;

// In the order of the enumerators.
constexpr const char* writes[] = {"stored",      "late",      "forbidden", "invalid", "conflict",
                                  "unavailable", "not_found", "replaced",  "retried"};
constexpr const char* limits[] = {"jobs", "memory", "token_reviews", "reads"};
constexpr const char* losses[] = {"forbidden", "invalid", "train_job_gone", "shutdown"};
constexpr const char* reviews[] = {"accepted", "refused", "failed"};

// From stored results to reports that wait for their write.
const std::vector<double> bounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                    0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};

template <class Series, class Names>
void fill(Series& series, net::Metrics& metrics, const char* family, const char* help, const char* label,
          const Names& name) {
    for (std::size_t i = 0; i < series.size(); ++i)
        series[i] = metrics.counter(family, help, {{label, std::string(name(i))}});
}

}  // namespace

Metrics::Metrics(net::Metrics& metrics, std::size_t jobs) : of_jobs_(jobs) {
    fill(reports_, metrics, "signalbox_progress_reports_total", "Requests with reports of progress.",
         "outcome", [](std::size_t i) { return to_string(static_cast<Outcome>(i)); });
    fill(writes_, metrics, "signalbox_progress_writes_total", "Writes of progress to TrainJobs.", "outcome",
         [](std::size_t i) { return writes[i]; });
    fill(reviews_, metrics, "signalbox_progress_token_reviews_total", "Questions about tokens of Pods.",
         "outcome", [](std::size_t i) { return reviews[i]; });
    fill(limited_, metrics, "signalbox_progress_limited_total",
         "Requests that were refused for a limit of this server.", "limit",
         [](std::size_t i) { return limits[i]; });
    fill(lost_, metrics, "signalbox_progress_lost_total", "Accepted reports that were never stored.",
         "reason", [](std::size_t i) { return losses[i]; });
    seconds_ = metrics.histogram("signalbox_progress_report_duration_seconds",
                                 "From the whole request to its answer, requests to the API server included.",
                                 bounds);
    lag_ = metrics.gauge("signalbox_progress_write_lag_seconds",
                         "For how long the oldest report that is not stored yet waits.");
    interval_ = metrics.gauge("signalbox_progress_interval_seconds",
                              "Between two writes of one TrainJob, as the budgets have stretched it.");
    jobs_ = metrics.gauge("signalbox_progress_jobs", "TrainJobs that report.");
    tokens_ = metrics.gauge("signalbox_progress_tokens", "Tokens of Pods that are remembered.");
}

void Metrics::count(Outcome outcome, std::chrono::steady_clock::duration took) {
    reports_[static_cast<std::size_t>(outcome)].add();
    seconds_.observe(Seconds(took).count());
}

void Metrics::count(Schedule::Outcome outcome) { writes_[static_cast<std::size_t>(outcome)].add(); }

void Metrics::show(const Schedule& schedule, std::size_t tokens, Moment now) {
    lag_.set(Seconds(schedule.longest_wait(now)).count());
    interval_.set(Seconds(schedule.interval(now)).count());
    jobs_.set(static_cast<double>(schedule.jobs()));
    tokens_.set(static_cast<double>(tokens));
}

}  // namespace progress
