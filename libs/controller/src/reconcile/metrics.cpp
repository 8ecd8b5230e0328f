#include "controller/reconcile/metrics.hpp"

#include <algorithm>

#include "controller/cache/cache.hpp"
#include "controller/reconcile/reconciler.hpp"

namespace controller {
namespace {

template <std::size_t size>
std::array<net::Counter, size> counters(net::Metrics& metrics, const char* name, const char* help,
                                        const char* label, const std::array<const char*, size>& values) {
    std::array<net::Counter, size> series;
    for (std::size_t i = 0; i < size; ++i) series[i] = metrics.counter(name, help, {{label, values[i]}});
    return series;
}

}  // namespace

ReconcileMetrics::ReconcileMetrics(net::Metrics& metrics)
    : seconds_(metrics.histogram("signalbox_reconcile_duration_seconds", "Duration of a reconcile.",
                                 {0.001, 0.005, 0.02, 0.1, 0.5, 2, 10})),
      measurements_(metrics) {
    const auto reconciles =
        counters<3>(metrics, "signalbox_reconciles_total", "Reconciles of a TrainJob, by result.", "result",
                    {"done", "failed", "exception"});
    done_ = reconciles[0];
    failed_ = reconciles[1];
    exceptions_ = reconciles[2];
    const auto requeues =
        counters<9>(metrics, "signalbox_requeues_total", "Requeues for a certain time, by reason.", "reason",
                    {"failure", "deadline", "ttl", "clean_up", "stall", "progress", "retry_after",
                     "exception", "stale_cache"});
    std::copy_n(requeues.begin(), requeues_.size(), requeues_.begin());
    retry_after_ = requeues[6];
    after_exception_ = requeues[7];
    deferred_ = requeues[8];
}

void ReconcileMetrics::count(const ReconcileResult& report, std::chrono::duration<double> took) {
    seconds_.observe(took.count());
    (report.error ? failed_ : done_).add();
    if (report.error && report.error->retry_after) retry_after_.add();
    if (report.measurements.requeue) requeues_[static_cast<std::size_t>(*report.measurements.requeue)].add();
    measurements_.count(report.measurements);
}

void ReconcileMetrics::count_exception() {
    exceptions_.add();
    after_exception_.add();
}

void add_cache_metrics(net::Metrics& metrics, Cache& cache) {
    using lifecycle::State;
    static constexpr std::pair<const char*, State> states[] = {
        {"pending", State::pending},     {"blocked", State::blocked},   {"running", State::running},
        {"suspended", State::suspended}, {"complete", State::complete}, {"failed", State::failed},
        {"elsewhere", State::elsewhere}};
    static_assert(std::size(states) == lifecycle::state_count);
    for (const auto& [name, state] : states)
        metrics.read_gauge("signalbox_train_jobs", "TrainJobs by their state.",
                           [&cache, state = state] { return static_cast<double>(cache.count(state)); },
                           {{"state", name}});
    for (std::size_t i = 0; i < lifecycle::stall_reason_count; ++i) {
        const auto reason = static_cast<lifecycle::StallReason>(i);
        metrics.read_gauge("signalbox_train_jobs_stalled",
                           "TrainJobs with the condition Stalled, by its reason.",
                           [&cache, reason] { return static_cast<double>(cache.stalled(reason)); },
                           {{"reason", std::string(lifecycle::name_of(reason))}});
    }
    metrics.read_gauge("signalbox_train_jobs_at_risk",
                       "TrainJobs that by their own estimate end after their active deadline.",
                       [&cache] { return static_cast<double>(cache.at_risk()); });
    const auto add = [&metrics](const kube::Resource& resource, const auto& store) {
        metrics.read_gauge("signalbox_cache_objects", "Objects in the caches.",
                           [&store] { return static_cast<double>(store.size()); },
                           {{"resource", kube::to_string(resource)}});
    };
    add(kube::resources::train_jobs, cache.train_jobs());
    add(kube::resources::job_sets, cache.job_sets());
    add(kube::resources::training_runtimes, cache.training_runtimes());
    add(kube::resources::cluster_training_runtimes, cache.cluster_training_runtimes());
    for (const Cache::OwnedKind& kind : cache.owned_kinds()) add(kind.resource, *kind.objects);
}

}  // namespace controller
