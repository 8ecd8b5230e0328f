#pragma once
#include <array>
#include <chrono>

#include "controller/reconcile/measurement_metrics.hpp"
#include "net/process/metrics.hpp"

namespace controller {

class Cache;
struct ReconcileResult;

/// Counts reconciles, what they brought about, and why there will be another one. All series exist from the
/// start. Thread rule: any thread.
class ReconcileMetrics {
public:
    explicit ReconcileMetrics(net::Metrics& metrics);

    /// Counts a reconcile that ended without an exception.
    void count(const ReconcileResult& report, std::chrono::duration<double> took);
    void count_exception();
    /// Counts a reconcile that is deferred, since the caches do not show yet what the last one wrote.
    void count_deferred() { deferred_.add(); }

private:
    net::Counter done_;
    net::Counter failed_;
    net::Counter exceptions_;
    net::Histogram seconds_;
    std::array<net::Counter, 6> requeues_;  // by lifecycle::RequeueReason
    net::Counter retry_after_;
    net::Counter after_exception_;
    net::Counter deferred_;
    MeasurementMetrics measurements_;
};

/// Adds signalbox_train_jobs by state, and the sizes of the stores. The cache must outlive the last
/// exposition.
void add_cache_metrics(net::Metrics& metrics, Cache& cache);

}  // namespace controller
