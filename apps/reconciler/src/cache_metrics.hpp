#pragma once
#include "controller/cache/cache.hpp"
#include "net/process/metrics.hpp"

namespace reconciler {

/// Adds signalbox_train_jobs by state, and the sizes of the stores. The cache must outlive the last
/// exposition.
void add_cache_metrics(net::Metrics& metrics, controller::Cache& cache);

}  // namespace reconciler
