#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "api/object_key.hpp"
#include "progress/report.hpp"
#include "progress/schedule.hpp"

namespace progress {

/// Series of single TrainJobs, with namespace and name as labels: percentage, remaining seconds and the time
/// of the last report, until five minutes after it. Values that training code measures are not among them.
/// It has `most` TrainJobs; another one is left out until one of them has become silent. Thread rule: any
/// thread.
class JobMetrics {
public:
    static constexpr std::chrono::minutes lasts{5};

    explicit JobMetrics(std::size_t most) : most_(most) {}

    void record(const api::ObjectKey& train_job, const Report& report, Moment now);
    /// Returns the series in the text format of Prometheus.
    std::string expose(kube::SteadyTime now);

private:
    struct Entry {
        std::optional<std::int32_t> percentage = {};
        std::optional<std::int32_t> remaining_seconds = {};
        Moment at = {};
    };
    void drop_silent(kube::SteadyTime now);

    const std::size_t most_;
    std::mutex mutex_ = {};
    std::map<api::ObjectKey, Entry> jobs_ = {};
    kube::SteadyTime looked_at_ = {};  // for silent ones, last
};

}  // namespace progress
