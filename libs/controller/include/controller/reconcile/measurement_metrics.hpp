#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "lifecycle/measurements.hpp"
#include "net/process/metrics.hpp"

namespace controller {

/// The metrics of what reconciles have brought about. Each is a row of a table in the source, which says what
/// a reconcile adds to it. All series exist from the start. Thread rule: any thread.
class MeasurementMetrics {
public:
    using Amount = std::function<double(const lifecycle::Measurements&)>;
    using Time = std::function<std::optional<std::chrono::seconds>(const lifecycle::Measurements&)>;

    explicit MeasurementMetrics(net::Metrics& metrics);

    void count(const lifecycle::Measurements& made);

private:
    std::vector<std::pair<net::Counter, Amount>> amounts_;
    std::vector<std::pair<net::Histogram, Time>> times_;
};

}  // namespace controller
