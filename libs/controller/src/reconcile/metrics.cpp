#include "controller/reconcile/metrics.hpp"

#include <algorithm>

#include "controller/cache/cache.hpp"
#include "controller/reconcile/reconciler.hpp"

namespace controller {
namespace {

// Times in the API are whole seconds. Zero is a bucket of its own, since quantiles are interpolated within a
// bucket.
const std::vector<double> bounds = {0, 1, 2, 5, 10, 30, 60, 300, 1800};
// Bounds for the duration of training, from half a minute to four weeks.
const std::vector<double> long_bounds = {30, 120, 600, 3600, 14400, 43200, 86400, 259200, 604800, 2419200};
constexpr std::array<const char*, 5> ends = {"complete", "failed", "deadline", "unsupported_runtime",
                                             "progress_deadline"};

template <std::size_t size>
std::array<net::Counter, size> counters(net::Metrics& metrics, const char* name, const char* help,
                                        const char* label, const std::array<const char*, size>& values) {
    std::array<net::Counter, size> series;
    for (std::size_t i = 0; i < size; ++i) series[i] = metrics.counter(name, help, {{label, values[i]}});
    return series;
}

void observe(net::Histogram& histogram, const std::optional<std::chrono::seconds>& time) {
    if (time) histogram.observe(static_cast<double>(time->count()));
}

}  // namespace

ReconcileMetrics::ReconcileMetrics(net::Metrics& metrics)
    : seconds_(metrics.histogram("signalbox_reconcile_duration_seconds", "Duration of a reconcile.",
                                 {0.001, 0.005, 0.02, 0.1, 0.5, 2, 10})),
      clean_up_failures_(
          metrics.counter("signalbox_clean_up_failures_total",
                          "Ended TrainJobs or their JobSets that could not be deleted; each is "
                          "tried again.")),
      to_job_set_(metrics.histogram("signalbox_time_to_job_set_seconds",
                                    "From the creation of a TrainJob to that of its first JobSet.", bounds)),
      to_terminal_(metrics.histogram("signalbox_time_to_terminal_seconds",
                                     "From the end of a JobSet until its TrainJob says so.", bounds)),
      deadline_late_(metrics.histogram("signalbox_deadline_lateness_seconds",
                                       "How long after its deadline a TrainJob was ended.", bounds)),
      ttl_late_(metrics.histogram("signalbox_ttl_lateness_seconds",
                                  "How long after its time to live a TrainJob was deleted.", bounds)),
      wait_(metrics.histogram("signalbox_wait_seconds",
                              "From the creation of a TrainJob to each of its starts.", long_bounds)) {
    metrics.keep_former_name("signalbox_pass_duration_seconds", "signalbox_reconcile_duration_seconds");
    metrics.keep_former_name("signalbox_passes_total", "signalbox_reconciles_total");
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
    ends_ = counters<5>(metrics, "signalbox_train_jobs_ended_total", "TrainJobs that have ended, by how.",
                        "end", ends);
    ttl_deletions_ =
        counters<2>(metrics, "signalbox_ttl_deletions_total",
                    "TrainJobs that were deleted as their time to live had passed, by whose it was.", "from",
                    {"train_job", "runtime"});
    ttl_held_ =
        counters<2>(metrics, "signalbox_ttl_held_total",
                    "TrainJobs that stay although by the caches their time to live has passed, by why.",
                    "why", {"multikueue", "live"});
    restarts_ = counters<2>(metrics, "signalbox_restarts_total",
                            "Restarts of TrainJobs after failures, by whether they count towards a maximum.",
                            "counted", {"true", "false"});
    lease_ahead_ =
        metrics.counter("signalbox_progress_lease_ahead_total",
                        "Looks at the Lease of the server of progress reports that found it more than a "
                        "minute ahead of this clock, so that no progress deadline was decided.");
    for (std::size_t i = 0; i < ends.size(); ++i)
        run_[i] = metrics.histogram("signalbox_run_seconds",
                                    "From the last start of a TrainJob to its end, by how it ended.",
                                    long_bounds, {{"end", ends[i]}});
}

void ReconcileMetrics::count(const ReconcileResult& report, std::chrono::duration<double> took) {
    seconds_.observe(took.count());
    (report.error ? failed_ : done_).add();
    if (report.error && report.error->retry_after) retry_after_.add();
    count_measurements(report.measurements);
}

void ReconcileMetrics::count_exception() {
    exceptions_.add();
    after_exception_.add();
}

void ReconcileMetrics::count_measurements(const lifecycle::Measurements& made) {
    observe(to_job_set_, made.to_job_set);
    observe(to_terminal_, made.to_terminal);
    observe(deadline_late_, made.deadline_late);
    observe(ttl_late_, made.ttl_late);
    observe(wait_, made.wait);
    restarts_[0].add(static_cast<double>(made.restarted.counted));
    restarts_[1].add(static_cast<double>(made.restarted.all - made.restarted.counted));
    if (made.end) observe(run_[static_cast<std::size_t>(*made.end)], made.run);
    if (made.expired) ttl_deletions_[static_cast<std::size_t>(*made.expired)].add();
    if (made.held) ttl_held_[static_cast<std::size_t>(*made.held)].add();
    if (made.end) ends_[static_cast<std::size_t>(*made.end)].add();
    if (made.clean_up_failed) clean_up_failures_.add();
    if (made.lease_is_ahead.value_or(false)) lease_ahead_.add();
    if (made.requeue) requeues_[static_cast<std::size_t>(*made.requeue)].add();
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
    metrics.keep_former_name("signalbox_store_objects", "signalbox_cache_objects");
    for (const Cache::OwnedKind& kind : cache.owned_kinds()) add(kind.resource, *kind.objects);
}

}  // namespace controller
