#include "caches.hpp"

#include "api/names.hpp"
#include "lifecycle/observed.hpp"
#include "owner.hpp"

namespace reconciler {
namespace {

// Of a JobSet only what decisions need is kept: null keeps no bytes. JobSets of nobody, or of others than
// TrainJobs, matter only in so far as they stand in the way of a TrainJob of that name.
std::optional<Caches::JobSetFacts> digest_job_set(api::Json& object) {
    const bool ours = !controlling_train_job(object).is_null();
    Caches::JobSetFacts facts;
    if (ours) facts.ours = std::make_unique<const api::JobSet>(api::parse_job_set(object));
    object = api::Json();
    return facts;
}

std::optional<Caches::TrainJobFacts> digest_train_job(api::Json& object) {
    const api::TrainJob job = api::parse_train_job(object);
    return Caches::TrainJobFacts{
        .runtime = runtime_key(job),
        .expects_job_set = !api::terminal_condition(job) && lifecycle::had_job_set(job)};
}

// Volcano makes PodGroups for everybody's Pods.
std::optional<Caches::PodGroupFacts> digest_pod_group(api::Json& object) {
    if (controlling_train_job(object).is_null()) return std::nullopt;
    const Caches::PodGroupFacts facts = {std::as_const(object)["metadata"]["generation"].int_or(0)};
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
      train_jobs_(digest_train_job, [this](const auto& key, auto*, auto*) { wake_(key); }),
      job_sets_(
          digest_job_set,
          [this](const auto& key, auto* before, auto* after) { wake_owner_of(key, before, after); },
          [this] { wake_those_whose_job_set_is_gone(); }),
      training_runtimes_(digest_runtime, [this](const auto& key, auto*, auto*) { wake_users_of(key); }),
      cluster_training_runtimes_(digest_runtime,
                                 [this](const auto& key, auto*, auto*) { wake_users_of(key); }),
      pod_groups_(digest_pod_group,
                  [this](const auto& key, auto* before, auto* after) { wake_gang(key, before, after); }),
      volcano_pod_groups_(digest_pod_group, [this](const auto& key, auto* before, auto* after) {
          wake_gang(key, before, after);
      }) {}

std::optional<api::TrainJob> Caches::train_job(const api::ObjectKey& key) const {
    const auto object = parsed(train_jobs_, key);
    return object ? std::optional(api::parse_train_job(*object)) : std::nullopt;
}

std::optional<api::JobSet> Caches::job_set(const api::ObjectKey& key) const {
    const auto* entry = job_sets_.find(key);
    return entry && entry->facts.ours ? std::optional(*entry->facts.ours) : std::nullopt;
}

std::optional<api::Json> Caches::runtime(const api::TrainJob& job) const {
    const api::ObjectKey key = runtime_key(job);
    const auto* entry = key.ns.empty() ? cluster_training_runtimes_.find(key) : training_runtimes_.find(key);
    if (!entry) return std::nullopt;
    if (last_runtime_.uid != entry->uid || last_runtime_.resource_version != entry->resource_version)
        last_runtime_ = {entry->uid, entry->resource_version, api::parse_json(entry->bytes).value()};
    return last_runtime_.tree;
}

bool Caches::synced() const {
    return train_jobs_.is_synced() && job_sets_.is_synced() && training_runtimes_.is_synced() &&
           cluster_training_runtimes_.is_synced();
}

void Caches::wake_owner_of(const api::ObjectKey& job_set, const JobSetEntry* before,
                           const JobSetEntry* after) {
    const bool ours = (before && before->facts.ours) || (after && after->facts.ours);
    const bool comes_or_goes = !before || !after;
    // A cluster may be full of JobSets that have nothing to do with TrainJobs.
    if (ours || (comes_or_goes && train_jobs_.find(job_set))) wake_(job_set);
}

void Caches::wake_those_whose_job_set_is_gone() {
    train_jobs_.for_each([&](const api::ObjectKey& job, const auto& entry) {
        if (entry.facts.expects_job_set && !job_sets_.find(job)) wake_(job);
    });
}

// Its scheduler writes the status of a gang all the time.
void Caches::wake_gang(const api::ObjectKey& pod_group, const PodGroupEntry* before,
                       const PodGroupEntry* after) {
    const bool same =
        before && after && before->uid == after->uid && before->facts.generation == after->facts.generation;
    if (!same) wake_(pod_group);
}

// A runtime changes rarely and a scan of ten thousand keys takes a millisecond, so there is no index to keep
// true.
void Caches::wake_users_of(const api::ObjectKey& runtime) {
    train_jobs_.for_each([&](const api::ObjectKey& job, const auto& entry) {
        if (entry.facts.runtime == runtime) wake_(job);
    });
}

}  // namespace reconciler
