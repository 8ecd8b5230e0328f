#pragma once
#include <array>
#include <chrono>

#include "net/process/metrics.hpp"
#include "progress/job_metrics.hpp"
#include "progress/schedule.hpp"
#include "progress/wire.hpp"

namespace progress {

/// The limit that refused or delayed a request.
enum class Limit { jobs, memory, token_reviews, reads };
inline constexpr std::size_t limit_count = 4;

/// The reason why an accepted report was never stored.
enum class Loss { forbidden, invalid, train_job_gone, shutdown };
inline constexpr std::size_t loss_count = 4;

enum class Review { accepted, refused, failed };
inline constexpr std::size_t review_count = 3;

/// The metrics of reports. All series exist from the start. Thread rule: any thread.
class Metrics {
public:
    /// `jobs`: how many TrainJobs have series of their own.
    explicit Metrics(net::Metrics& metrics, std::size_t jobs = 0);

    void count(Outcome outcome, std::chrono::steady_clock::duration took);
    /// Counts a write. Not for Schedule::Outcome::changed.
    void count(Schedule::Outcome outcome);
    void count(Review outcome) { reviews_[static_cast<std::size_t>(outcome)].add(); }
    void count(Limit limit) { limited_[static_cast<std::size_t>(limit)].add(); }
    void count(Loss loss, std::size_t reports = 1) {
        lost_[static_cast<std::size_t>(loss)].add(static_cast<double>(reports));
    }
    void show(const Schedule& schedule, std::size_t tokens, Moment now);
    JobMetrics& of_jobs() { return of_jobs_; }

private:
    JobMetrics of_jobs_;
    std::array<net::Counter, outcome_count> reports_ = {};
    net::Histogram seconds_ = {};
    std::array<net::Counter, 9> writes_ = {};
    std::array<net::Counter, review_count> reviews_ = {};
    std::array<net::Counter, limit_count> limited_ = {};
    std::array<net::Counter, loss_count> lost_ = {};
    net::Gauge lag_ = {};
    net::Gauge interval_ = {};
    net::Gauge jobs_ = {};
    net::Gauge tokens_ = {};
};

}  // namespace progress
