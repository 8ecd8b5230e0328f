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
#include "controller/cache/progress_index.hpp"
#include "kube/watch/store.hpp"
#include "lifecycle/state.hpp"
#include "runtime/plugin.hpp"

namespace controller {

/// Returns the key of a TrainJob's runtime among both kinds: cluster-scoped ones have no namespace.
api::ObjectKey runtime_key(const api::TrainJob& job);

/// A change that concerns a TrainJob.
struct Change {
    enum class Of { train_job, job_set, anything_else };
    Of of = Of::anything_else;
    /// The version of the object in the cache; valid during the call only.
    std::string_view resource_version = {};
};

/// The objects of the watches: the cluster as it was a moment ago. Reports which TrainJobs to reconcile.
/// Thread rule: one thread.
class Cache {
public:
    /// Called for every change of a TrainJob or of an object that it owns, and by enqueue_users() after a
    /// change of its runtime. Also called when a foreign JobSet takes or releases its name, and after a list
    /// of JobSets that lacks its JobSet, which may have existed for a while unseen.
    using OnChange = std::function<void(const api::ObjectKey& train_job, const Change& change)>;

    /// Called for every deleted TrainJob, before OnChange.
    using OnDelete = std::function<void(const api::ObjectKey& train_job, std::string_view uid)>;

    /// Caches the objects of these namespaces, and cluster-scoped runtimes. The pipeline must outlive the
    /// cache.
    explicit Cache(OnChange enqueue, kube::Namespaces namespaces = {},
                   const runtime::Pipeline& pipeline = runtime::default_pipeline());
    void on_delete(OnDelete gone) { on_delete_ = std::move(gone); }

    /// Prepares the cache for the decisions of `watch`. Call it before the first object. TrainJobs keep what
    /// the deadlines of these decisions depend on, and a report that moves one of them calls OnChange;
    /// without this call, no report does. `now` is the wall clock.
    void watch_progress(lifecycle::ProgressWatch watch, std::function<api::Time()> now) {
        progress_watch_ = watch;
        now_ = std::move(now);
    }

    /// `changed` is called after the change of a runtime with TrainJobs; it has to lead to enqueue_users().
    void on_runtime(std::function<void()> changed) { on_runtime_ = std::move(changed); }

    /// Calls OnChange for some of the TrainJobs whose runtimes have changed, at most `users_in_a_row`.
    /// Returns when to call it again, after other work if that time has passed; nullopt: not before
    /// on_runtime().
    std::optional<kube::SteadyTime> enqueue_users(kube::SteadyTime now);
    static constexpr std::size_t users_in_a_row = 256;

    /// Returns the TrainJob without labels, owner references and finalizers, which no decision depends on. An
    /// ended one, or one of another controller, has only a few fields of its `spec`.
    /// Its trainer_status is there if a deadline depends on it, without metrics.
    std::optional<api::TrainJob> train_job(const api::ObjectKey& key) const;
    /// Returns whether train_job() lacks a part of the status, too: that of an ended TrainJob, or of one of
    /// another controller, is cut if it is unusually large. Do not write anything that follows from such a
    /// status.
    bool is_abridged(const api::ObjectKey& train_job) const;
    /// Returns the JobSet of that name; one that no TrainJob controls has only its identity.
    std::optional<api::JobSet> job_set(const api::ObjectKey& key) const;
    /// Returns the live runtime of the TrainJob; nullptr if there is none.
    std::shared_ptr<const api::Json> runtime(const api::TrainJob& job) const;

    /// Returns the bytes of the TrainJob, its runtime and the JobSet of its name, which a reconcile of it may
    /// read.
    std::size_t bytes_of(const api::ObjectKey& train_job) const;

    /// Returns whether every store has had its first list of that namespace (or partition) and of
    /// cluster-scoped objects. Until then a missing object may exist.
    bool synced(std::string_view ns) const;
    /// Returns the same for any partition.
    bool synced_somewhere() const;
    const kube::Namespaces& namespaces() const { return namespaces_; }

    /// Returns the number of TrainJobs in that state; counted as they change.
    std::size_t count(lifecycle::State state) const { return states_[static_cast<std::size_t>(state)]; }

    /// Returns the number of TrainJobs with the condition Stalled for that reason, and of those that by their
    /// own estimate end after their active deadline.
    std::size_t stalled(lifecycle::StallReason reason) const {
        return stalled_[static_cast<std::size_t>(reason)];
    }
    std::size_t at_risk() const { return at_risk_; }

    struct TrainJobIndex {
        /// The hash of runtime_key(). If two runtimes share one, a TrainJob gets an unnecessary reconcile.
        std::size_t runtime_hash = 0;
        bool expects_job_set = false;  ///< not ended, and has had a JobSet
        bool is_held = false;          ///< not ended, and suspended
        bool is_due = false;           ///< not ended, and not suspended
        bool is_abridged = false;      ///< as in Cache::is_abridged()
        lifecycle::State state = lifecycle::State::pending;
        ProgressIndex progress = {};
    };
    struct JobSetIndex {
        bool of_train_job = false;  ///< a TrainJob controls it; of others only the existence is stored
        bool applied_here = false;
        bool taken_over = false;
        std::optional<std::int64_t> built_for_nodes = {};  ///< api::noted_nodes()
        std::string runtime_digest = {};                   ///< api::noted_runtime()
    };
    struct RuntimeIndex {
        std::uint64_t spec_hash = 0;  ///< of a runtime, reconciles read only its name
        bool has_legacy_finalizer = false;
        std::uint64_t owned_kinds =
            0;  ///< kinds of which its jobs have objects: a bit per entry of owned_kinds()
    };
    struct OwnedIndex {
        std::int64_t generation = 0;
    };
    /// Objects that a plugin makes under the names of TrainJobs, such as PodGroups. Metadata is enough: a
    /// change enqueues the TrainJob.
    struct OwnedKind {
        const runtime::Plugin* plugin = nullptr;
        api::Resource resource = {};
        std::unique_ptr<kube::Store<OwnedIndex>> objects = {};
    };

    /// Paths that a watch of JobSets may omit: most of each object.
    static const api::JsonPaths omitted_of_job_sets;

    kube::Store<TrainJobIndex>& train_jobs() { return train_jobs_; }
    kube::Store<JobSetIndex>& job_sets() { return job_sets_; }
    kube::Store<RuntimeIndex>& training_runtimes() { return training_runtimes_; }
    kube::Store<RuntimeIndex>& cluster_training_runtimes() { return cluster_training_runtimes_; }
    /// The kinds of the pipeline, in its order. synced() does not wait for them: a cluster may lack such a
    /// kind.
    const std::vector<OwnedKind>& owned_kinds() { return owned_kinds_; }
    /// Returns the kinds of which there is an object under this TrainJob's name that stays for `at_most`, or
    /// less.
    std::vector<api::Resource> owned_objects(const api::ObjectKey& train_job,
                                             runtime::OwnedFor at_most) const;

    /// A collection to watch, and the sink of its watch.
    struct Collection {
        kube::Scope scope;
        kube::Sink& sink;
        bool may_be_missing = false;  ///< a cluster may lack the kind
    };
    /// Returns the collections of all stores; valid as long as the cache.
    std::vector<Collection> collections();

private:
    using JobSetEntry = kube::Store<JobSetIndex>::Entry;
    using OwnedEntry = kube::Store<OwnedIndex>::Entry;
    using TrainJobEntry = kube::Store<TrainJobIndex>::Entry;
    TrainJobIndex transform_train_job(api::Json& object) const;
    void count(const TrainJobIndex& index, bool added);
    void note(const api::ObjectKey& train_job, const TrainJobEntry* before, const TrainJobEntry* after);
    void enqueue_owner(const api::ObjectKey& job_set, const JobSetEntry* before, const JobSetEntry* after);
    std::optional<RuntimeIndex> transform_runtime(api::Json& object) const;
    void watch_owned_kind(const runtime::Plugin& plugin, const api::Resource& resource);
    void enqueue_owner_of(const api::ObjectKey& owned, const OwnedEntry* before, const OwnedEntry* after);
    using RuntimeEntry = kube::Store<RuntimeIndex>::Entry;
    void note_runtime(const api::ObjectKey& runtime, const RuntimeEntry* before, const RuntimeEntry* after);
    void enqueue_jobs_without_job_set(const std::string& partition);
    void enqueue_those_without(std::size_t owned_kind, const std::string& partition);

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
    std::array<std::size_t, lifecycle::stall_reason_count> stalled_ = {};
    std::size_t at_risk_ = 0;
    lifecycle::ProgressWatch progress_watch_ = lifecycle::ProgressWatch::off;
    std::function<api::Time()> now_ = [] { return api::Time(); };
    std::unordered_map<std::size_t, std::size_t> runtime_bytes_;  // by TrainJobIndex::runtime_hash
    // The TrainJobs of each runtime; the keys are those of the store.
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
