#include "cache_metrics.hpp"

namespace reconciler {

void add_cache_metrics(net::Metrics& metrics, controller::Cache& cache) {
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
    for (const controller::Cache::OwnedKind& kind : cache.owned_kinds()) add(kind.resource, *kind.objects);
}

}  // namespace reconciler
