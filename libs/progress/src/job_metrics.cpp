#include "progress/job_metrics.hpp"

#include <string_view>

namespace progress {
namespace {

using namespace std::chrono_literals;

// A search for silent jobs looks at all of them.
constexpr auto between_searches = 1s;

void begin_family(std::string& text, std::string_view name, std::string_view help) {
    text.append("# HELP ").append(name).append(" ").append(help).append("\n");
    text.append("# TYPE ").append(name).append(" gauge\n");
}

// Names of objects need no escapes.
void add_series(std::string& text, std::string_view name, const api::ObjectKey& job, std::int64_t value) {
    text.append(name).append("{namespace=\"").append(job.ns).append("\",name=\"").append(job.name);
    text.append("\"} ").append(std::to_string(value)).append("\n");
}

}  // namespace

void JobMetrics::drop_silent(kube::SteadyTime now) {
    looked_at_ = now;
    std::erase_if(jobs_, [now](const auto& job) { return now - job.second.at.steady > lasts; });
}

void JobMetrics::record(const api::ObjectKey& train_job, const Report& report, Moment now) {
    if (most_ == 0) return;
    const std::lock_guard lock(mutex_);
    if (!jobs_.contains(train_job)) {
        if (jobs_.size() >= most_ && now.steady - looked_at_ >= between_searches) drop_silent(now.steady);
        if (jobs_.size() >= most_) return;
    }
    jobs_[train_job] = {
        .percentage = report.percentage, .remaining_seconds = report.remaining_seconds, .at = now};
}

std::string JobMetrics::expose(kube::SteadyTime now) {
    const std::lock_guard lock(mutex_);
    drop_silent(now);
    constexpr const char* percent = "signalbox_progress_job_percent";
    constexpr const char* remaining = "signalbox_progress_job_remaining_seconds";
    constexpr const char* reported = "signalbox_progress_job_reported_seconds";
    std::string text;
    begin_family(text, percent, "Percentage that a TrainJob reported last.");
    for (const auto& [job, entry] : jobs_)
        if (entry.percentage) add_series(text, percent, job, *entry.percentage);
    begin_family(text, remaining, "Seconds that were left by the last report.");
    for (const auto& [job, entry] : jobs_)
        if (entry.remaining_seconds) add_series(text, remaining, job, *entry.remaining_seconds);
    begin_family(text, reported, "Arrival of the last report, in seconds since 1970.");
    for (const auto& [job, entry] : jobs_)
        add_series(text, reported, job, entry.at.wall.time_since_epoch().count());
    return text;
}

}  // namespace progress
