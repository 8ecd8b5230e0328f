#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/job_set.hpp"
#include "api/train_job.hpp"
#include "controller/cache/changed_runtimes.hpp"
#include "kube/watch/store.hpp"
#include "lifecycle/state.hpp"
#include "runtime/plugin.hpp"

namespace controller {

/// The runtime of a TrainJob, as a key among both kinds: cluster-scoped ones have no namespace.
api::ObjectKey runtime_key(const api::TrainJob& job);

/// What has happened to a TrainJob.
struct Change {
    enum class Of { train_job, job_set, anything_else };
    Of of = Of::anything_else;
    /// That the object has now, as the caches show it; valid during the call only.
    std::string_view resource_version = {};
};

/// What the watches have seen: the cluster as it was a moment ago. Tells which TrainJobs want a pass.
/// Thread rule: one thread.
class Cache {
public:
    /// Called for every TrainJob that something has happened to, or to an object that it owns, and by
    /// enqueue_users() where it has happened to its runtime; also when a foreign JobSet takes its
    /// name or gives it back, and when JobSets were listed anew and its own is not among them: it may have
    /// come and gone unseen.
    using OnChange = std::function<void(const api::ObjectKey& train_job, const Change& change)>;

    /// Called for every TrainJob that was there and is no more, before the call of Wake.
    using OnDelete = std::function<void(const api::ObjectKey& train_job, std::string_view uid)>;

    /// Of these namespaces, and of what belongs to none. The pipeline must outlive the cache.
    explicit Cache(OnChange enqueue, kube::Namespaces namespaces = {},
                   const runtime::Pipeline& pipeline = runtime::default_pipeline());
    void on_delete(OnDelete gone) { on_delete_ = std::move(gone); }

    /// Without labels, owner references and finalizers, which no decision rests on. Of the `spec` of one that
    /// has ended, or that others manage, a few fields.
    /// Called when a runtime has changed that TrainJobs use: enqueue_users() has to be called.
    void on_runtime(std::function<void()> changed) { on_runtime_ = std::move(changed); }

    /// Calls OnChange for some of the TrainJobs whose runtimes have changed, at most `users_in_a_row`. To be
    /// called again at the returned time, or when other work has had its turn if that has passed; nullopt:
    /// not before on_runtime().
    std::optional<kube::SteadyTime> enqueue_users(kube::SteadyTime now);
    static constexpr std::size_t users_in_a_row = 256;

    std::optional<api::TrainJob> train_job(const api::ObjectKey& key) const;
    /// Whether train_job() lacks a part of the status, too: that of one that has ended, or that others
    /// manage, is cut if it is unusually large. Do not write what follows from such a status.
    bool is_abridged(const api::ObjectKey& train_job) const;
    /// The JobSet of that name; one that no TrainJob controls with nothing but its identity.
    std::optional<api::JobSet> job_set(const api::ObjectKey& key) const;
    /// The live runtime that the TrainJob names; nullptr if there is none.
    std::shared_ptr<const api::Json> runtime(const api::TrainJob& job) const;

    /// The texts of the TrainJob, its runtime and the JobSet of its name, which a pass over it may read.
    std::size_t bytes_of(const api::ObjectKey& train_job) const;

    /// Every store has had its first list of what is in that namespace (or section), and of what is in none;
    /// until then nothing may be concluded from an absence.
    bool synced(std::string_view ns) const;
    /// For some section at least.
    bool synced_somewhere() const;
    const kube::Namespaces& namespaces() const { return namespaces_; }

    /// How many TrainJobs are in that state; kept as they change.
    std::size_t count(lifecycle::State state) const { return states_[static_cast<std::size_t>(state)]; }

    struct TrainJobIndex {
        /// Of runtime_key(). Where two runtimes share one, a TrainJob gets a pass for nothing.
        std::size_t runtime_hash = 0;
        bool expects_job_set = false;  ///< it goes on, and has had one
        bool is_held = false;          ///< it goes on, and is suspended
        bool is_abridged = false;      ///< as in Cache::is_abridged()
        lifecycle::State state = lifecycle::State::pending;
    };
    struct JobSetIndex {
        bool ours = false;  ///< of others only that they are there
        bool applied_by_us = false;
        bool taken_over = false;
    };
    struct RuntimeIndex {
        std::uint64_t spec_hash = 0;  ///< passes read nothing else of a runtime but its name
        bool has_legacy_finalizer = false;
        std::uint64_t owned_kinds = 0;  ///< of which its jobs have objects: a bit per entry of owned_kinds()
    };
    struct OwnedIndex {
        std::int64_t generation = 0;
    };
    /// Objects that a plugin makes under the names of TrainJobs, such as PodGroups. Metadata will do: that
    /// one has changed enqueues its TrainJob.
    struct OwnedKind {
        const runtime::Plugin* plugin = nullptr;
        api::Resource resource = {};
        std::unique_ptr<kube::Store<OwnedIndex>> objects = {};
    };

    /// What a watch of JobSets may leave out: most of each.
    static const api::JsonPaths omitted_of_job_sets;

    kube::Store<TrainJobIndex>& train_jobs() { return train_jobs_; }
    kube::Store<JobSetIndex>& job_sets() { return job_sets_; }
    kube::Store<RuntimeIndex>& training_runtimes() { return training_runtimes_; }
    kube::Store<RuntimeIndex>& cluster_training_runtimes() { return cluster_training_runtimes_; }
    /// Those of the pipeline, in its order. synced() does not wait for them: a cluster may have no such kind.
    const std::vector<OwnedKind>& owned_kinds() { return owned_kinds_; }

private:
    using JobSetEntry = kube::Store<JobSetIndex>::Entry;
    using OwnedEntry = kube::Store<OwnedIndex>::Entry;
    using TrainJobEntry = kube::Store<TrainJobIndex>::Entry;
    void note(const api::ObjectKey& train_job, const TrainJobEntry* before, const TrainJobEntry* after);
    void enqueue_owner(const api::ObjectKey& job_set, const JobSetEntry* before, const JobSetEntry* after);
    std::optional<RuntimeIndex> transform_runtime(api::Json& object) const;
    void watch_owned_kind(const runtime::Plugin& plugin, const api::Resource& resource);
    void enqueue_owner_of(const api::ObjectKey& owned, const OwnedEntry* before, const OwnedEntry* after);
    using RuntimeEntry = kube::Store<RuntimeIndex>::Entry;
    void note_runtime(const api::ObjectKey& runtime, const RuntimeEntry* before, const RuntimeEntry* after);
    void enqueue_jobs_without_job_set(const std::string& section);
    void enqueue_suspended_without(std::size_t owned_kind, const std::string& section);

    // Many TrainJobs use the same runtime, one after the other.
    struct LastRuntime {
        std::string uid = {};
        std::string resource_version = {};
        std::shared_ptr<const api::Json> tree = {};
    };

    kube::Namespaces namespaces_;
    OnChange on_change_;
    OnDelete on_delete_;
    std::function<void()> on_runtime_;
    std::array<std::size_t, lifecycle::state_count> states_ = {};
    std::unordered_map<std::size_t, std::size_t> runtime_bytes_;  // by TrainJobIndex::runtime_hash
    // Which TrainJobs name it; the keys are those of the store.
    std::set<std::pair<std::size_t, const api::ObjectKey*>> users_of_runtimes_;
    ChangedRuntimes changed_runtimes_;
    kube::Store<TrainJobIndex> train_jobs_;
    kube::Store<JobSetIndex> job_sets_;
    kube::Store<RuntimeIndex> training_runtimes_;
    kube::Store<RuntimeIndex> cluster_training_runtimes_;
    std::vector<OwnedKind> owned_kinds_;
    mutable LastRuntime last_runtime_;
};

}  // namespace controller
