#include "caches.hpp"

#include "api/names.hpp"

namespace reconciler {
namespace {

// Of a JobSet only what decisions need is kept: null keeps no bytes. JobSets of nobody, or of others than
// TrainJobs, are none of ours.
std::optional<api::JobSet> digest_job_set(api::Json& object) {
    const auto& owners = std::as_const(object)["metadata"]["ownerReferences"].items();
    const bool ours = std::any_of(owners.begin(), owners.end(), [](const api::Json& owner) {
        return owner["controller"].bool_or(false) && owner["kind"].as_string() == api::train_job_kind &&
               owner["apiVersion"].as_string().starts_with(api::trainer_group);
    });
    if (!ours) return std::nullopt;
    api::JobSet facts = api::parse_job_set(object);
    object = api::Json();
    return facts;
}

std::optional<Caches::RuntimeFacts> digest_runtime(api::Json&) { return Caches::RuntimeFacts(); }

template <class Store>
std::optional<api::Json> parsed(const Store& store, const api::ObjectKey& key) {
    const auto* entry = store.find(key);
    if (!entry) return std::nullopt;
    return api::parse_json(entry->bytes).value();
}

}  // namespace

api::ObjectKey runtime_key(const api::TrainJob& job) {
    const bool namespaced = job.runtime_ref.kind == api::training_runtime_kind;
    return {namespaced ? job.meta.ns : std::string(), job.runtime_ref.name};
}

Caches::Caches(Wake wake)
    : wake_(std::move(wake)),
      train_jobs_([](api::Json& object) { return TrainJobFacts{runtime_key(api::parse_train_job(object))}; },
                  [this](const auto& key, auto*, auto*) { wake_(key); }),
      job_sets_(digest_job_set, [this](const auto& key, auto*, auto*) { wake_(key); }),
      training_runtimes_(digest_runtime, [this](const auto& key, auto*, auto*) { wake_users_of(key); }),
      cluster_training_runtimes_(digest_runtime,
                                 [this](const auto& key, auto*, auto*) { wake_users_of(key); }) {}

std::optional<api::TrainJob> Caches::train_job(const api::ObjectKey& key) const {
    const auto object = parsed(train_jobs_, key);
    return object ? std::optional(api::parse_train_job(*object)) : std::nullopt;
}

std::optional<api::JobSet> Caches::job_set(const api::ObjectKey& key) const {
    const auto* entry = job_sets_.find(key);
    return entry ? std::optional(entry->facts) : std::nullopt;
}

std::optional<api::Json> Caches::runtime(const api::TrainJob& job) const {
    const api::ObjectKey key = runtime_key(job);
    return key.ns.empty() ? parsed(cluster_training_runtimes_, key) : parsed(training_runtimes_, key);
}

bool Caches::synced() const {
    return train_jobs_.is_synced() && job_sets_.is_synced() && training_runtimes_.is_synced() &&
           cluster_training_runtimes_.is_synced();
}

// A runtime changes rarely and a scan of ten thousand keys takes a millisecond, so there is no index to keep
// true.
void Caches::wake_users_of(const api::ObjectKey& runtime) {
    train_jobs_.for_each([&](const api::ObjectKey& job, const auto& entry) {
        if (entry.facts.runtime == runtime) wake_(job);
    });
}

}  // namespace reconciler
