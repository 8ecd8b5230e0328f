#include "controller/cache/cache.hpp"

#include <algorithm>
#include <unordered_set>

#include "api/hash.hpp"
#include "api/job_set_names.hpp"
#include "api/names.hpp"
#include "api/train_job.hpp"
#include "cache/owner.hpp"
#include "controller/cache/progress_index.hpp"
#include "kube/client/request.hpp"
#include "lifecycle/observed.hpp"

namespace controller {
namespace {

using api::Json;
using Keys = std::initializer_list<std::string_view>;

void keep_only(Json* tree, std::initializer_list<std::string_view> names) {
    if (!tree || !tree->is_object()) return;
    tree->members().erase_if([&](const api::JsonObject::Member& member) {
        return std::find(names.begin(), names.end(), member.key) == names.end();
    });
}

template <class Predicate>
void keep_items(Json* list, Predicate wanted) {
    if (list && list->is_array()) std::erase_if(list->items(), std::not_fn(wanted));
}

constexpr Keys no_keys = {};
constexpr Keys progress_keys = {api::progress_seconds_annotation, api::progress_action_annotation,
                                api::start_seconds_annotation};
// A TrainJob's queue decides whether Kueue manages its JobSet: lifecycle::is_in_own_queue().
constexpr Keys queue_keys = {api::queue_label};

// Reduces `labels` or `annotations` of the metadata to some entries. Without an entry, the map goes.
void keep_entries(Json& object, std::string_view map, Keys keys) {
    Json* const metadata = object.find("metadata");
    if (!metadata) return;
    keep_only(metadata->find(map), keys);
    if (std::as_const(*metadata)[map].empty()) metadata->erase(map);
}

// identify() restores the rest of the metadata from key and entry. The needed parts are named, since lists
// may be as long as an object.
void keep_what_decisions_need(Json& object, std::initializer_list<std::string_view> metadata) {
    keep_only(&object, {"metadata", "spec", "status"});
    keep_only(object.find("metadata"), metadata);
}

// Limit for a message, which has room for a few names.
constexpr std::size_t max_finalizers = 8;
// Limit for conditions and counts, as JSON. Hardly any have more.
constexpr std::size_t usual_status_bytes = 1280;

bool ends_a_job(const Json& condition) {
    const std::string_view type = condition["type"].as_string();
    return type == api::condition::complete || type == api::condition::failed;
}

// Reduces a status of unusual size to the parts that decisions need. Returns whether it did.
bool abridge_status(Json& object) {
    Json* const status = object.find("status");
    if (!status || api::to_json(*status).size() <= usual_status_bytes) return false;
    keep_only(status, {"conditions", "runPolicy"});
    Json* const conditions = status->find("conditions");
    keep_items(conditions, ends_a_job);
    if (conditions && conditions->is_array())
        for (Json& condition : conditions->items())
            keep_only(&condition, {"type", "status", "lastTransitionTime"});
    return true;
}

void identify(api::ObjectMeta& meta, const api::ObjectKey& key, const kube::StoredObject& object) {
    meta.ns = key.ns;
    meta.name = key.name;
    meta.uid = object.uid();
    meta.resource_version = object.resource_version();
}

bool has_ended(const Json& job_set) {
    const auto& conditions = job_set["status"]["conditions"].items();
    return std::any_of(conditions.begin(), conditions.end(), [](const Json& condition) {
        const std::string_view type = condition["type"].as_string();
        return condition["status"].as_string() == "True" && (type == "Completed" || type == "Failed");
    });
}

// Parts of a running JobSet that show which of its Jobs are due.
void keep_what_starts(Json& object) {
    Json* const spec = object.find("spec");
    if (!spec || std::as_const(*spec)["suspend"].bool_or(false) || has_ended(object))
        return keep_only(spec, {"suspend", "network"});
    keep_only(spec, {"suspend", "replicatedJobs", "startupPolicy", "failurePolicy", "network"});
    keep_only(spec->find("failurePolicy"), {"maxRestarts"});
    if (Json* const jobs = spec->find("replicatedJobs"); jobs && jobs->is_array())
        for (Json& job : jobs->items()) keep_only(&job, {"name", "replicas", "dependsOn"});
}

// Makes a JobSet that no TrainJob owns null, which stores no bytes: it matters only if it has the name of a
// TrainJob.
std::optional<Cache::JobSetIndex> transform_job_set(Json& object) {
    const bool of_train_job = !controlling_train_job(object).is_null();
    if (!of_train_job) {
        object = Json();
        return Cache::JobSetIndex{};
    }
    const Cache::JobSetIndex index = {.of_train_job = true,
                                      .applied_here = api::is_applied_here(object),
                                      .taken_over = api::is_taken_over(object),
                                      .built_for_nodes = api::noted_nodes(object),
                                      .runtime_digest = api::noted_runtime(object)};
    keep_what_decisions_need(object, {"annotations", "labels", "generation", "creationTimestamp",
                                      "deletionTimestamp", "finalizers", "ownerReferences"});
    Json& metadata = object["metadata"];
    keep_entries(object, "annotations",
                 {api::restarts_before_annotation, api::attempt_annotation, api::excluded_nodes_annotation,
                  api::finished_jobs_annotation, api::written_suspend_annotation});
    keep_entries(object, "labels", queue_keys);
    keep_items(metadata.find("ownerReferences"),
               [](const Json& owner) { return owner["controller"].bool_or(false); });
    for (Json& owner : metadata["ownerReferences"].items()) keep_only(&owner, {"controller", "uid"});
    if (Json* finalizers = metadata.find("finalizers"); finalizers && finalizers->is_array())
        finalizers->items().resize(std::min(finalizers->items().size(), max_finalizers));
    keep_what_starts(object);
    keep_only(object.find("status"),
              {"conditions", "replicatedJobsStatus", "restarts", "restartsCountTowardsMax"});
    return index;
}

// Leaves out objects that no TrainJob owns: another controller may make such objects for Pods without a
// TrainJob.
std::optional<Cache::OwnedIndex> transform_owned(Json& object) {
    if (controlling_train_job(object).is_null()) return std::nullopt;
    const Cache::OwnedIndex index = {std::as_const(object)["metadata"]["generation"].int_or(0)};
    object = Json();
    return index;
}

constexpr std::string_view job_templates[] = {"object", "spec", "replicatedJobs", "[]", "template"};
constexpr api::JsonPath parts_of_job_sets[] = {job_templates};

// A deletion has no version, so it is never an own write.
Change change_of(Change::Of of, const auto* entry) {
    if (!entry) return {};
    return {.of = of, .resource_version = entry->object.resource_version()};
}

bool is_report(const auto* before, const auto* after) {
    return before && after && before->object.uid() == after->object.uid() &&
           is_mere_report(before->index.progress, after->index.progress);
}

Json tree_of(const kube::StoredObject& object) { return api::parse_json(object.bytes()).value(); }

}  // namespace

api::ObjectKey runtime_key(const api::TrainJob& job) {
    const bool namespaced = job.runtime_ref.kind == api::training_runtime_kind;
    return {namespaced ? job.meta.ns : std::string(), job.runtime_ref.name};
}

const api::JsonPaths Cache::omitted_of_job_sets = parts_of_job_sets;

Cache::Cache(OnChange enqueue, kube::Namespaces namespaces, const runtime::Pipeline& pipeline)
    : namespaces_(std::move(namespaces)),
      on_change_(std::move(enqueue)),
      train_jobs_([this](Json& object) { return transform_train_job(object); },
                  [this](const auto& key, auto* before, auto* after) {
                      note(key, before, after);
                      if (!is_report(before, after)) on_change_(key, change_of(Change::Of::train_job, after));
                  },
                  namespaces_),
      job_sets_(
          transform_job_set,
          [this](const auto& key, auto* before, auto* after) { enqueue_owner(key, before, after); },
          namespaces_, [this](const auto& partition) { enqueue_jobs_without_job_set(partition); }),
      training_runtimes_(
          [this](Json& object) { return transform_runtime(object); },
          [this](const auto& key, auto* before, auto* after) { note_runtime(key, before, after); },
          namespaces_),
      cluster_training_runtimes_(
          [this](Json& object) { return transform_runtime(object); },
          [this](const auto& key, auto* before, auto* after) { note_runtime(key, before, after); }) {
    for (const auto& plugin : pipeline)
        if (const runtime::Policy* policy = plugin->policy(); policy && policy->owned_kind)
            watch_owned_kind(*plugin, *policy->owned_kind);
}

std::vector<api::Resource> Cache::owned_objects(const api::ObjectKey& train_job,
                                                runtime::OwnedFor at_most) const {
    std::vector<api::Resource> kinds;
    for (const OwnedKind& kind : owned_kinds_)
        if (kind.plugin->policy()->owned_for >= at_most && kind.objects->find(train_job))
            kinds.push_back(kind.resource);
    return kinds;
}

void Cache::watch_owned_kind(const runtime::Plugin& plugin, const api::Resource& resource) {
    const std::size_t index = owned_kinds_.size();
    owned_kinds_.push_back(
        {&plugin, resource,
         std::make_unique<kube::Store<OwnedIndex>>(
             transform_owned,
             [this](const auto& key, auto* before, auto* after) { enqueue_owner_of(key, before, after); },
             namespaces_,
             [this, index](const auto& partition) { enqueue_those_without(index, partition); })});
}

std::optional<Cache::RuntimeIndex> Cache::transform_runtime(Json& object) const {
    const Json& runtime = object;
    const auto& finalizers = runtime["metadata"]["finalizers"].items();
    RuntimeIndex index = {.spec_hash = api::keyed_hash(api::to_json(runtime["spec"]))};
    index.has_legacy_finalizer = std::any_of(finalizers.begin(), finalizers.end(), [](const Json& name) {
        return name.as_string() == api::legacy_runtime_finalizer;
    });
    for (std::size_t i = 0; i < owned_kinds_.size(); ++i)
        if (owned_kinds_[i].plugin->is_on(runtime)) index.owned_kinds |= std::uint64_t{1} << i;
    return index;
}

Cache::TrainJobIndex Cache::transform_train_job(Json& object) const {
    // The spec is most of the object. It is not needed here, and so moved instead of copied.
    Json* const spec_in_object = object.find("spec");
    Json spec = spec_in_object ? std::move(*spec_in_object) : Json();
    api::TrainJob job = api::parse_train_job(object);
    job.runtime_ref = api::parse_runtime_ref(spec);
    job.suspend = std::as_const(spec)["suspend"].bool_or(false);
    job.active_deadline_seconds = std::as_const(spec)["activeDeadlineSeconds"].as_int();
    job.managed_by = std::as_const(spec)["managedBy"].as_string();
    const lifecycle::State state = lifecycle::state_of(job);
    const bool goes_on = !api::terminal_condition(job);
    // No object is built for an ended TrainJob or one of another controller, and such a TrainJob may exist
    // for months.
    const bool at_rest = !goes_on || state == lifecycle::State::elsewhere;
    if (at_rest)
        keep_only(&spec,
                  {"runtimeRef", "suspend", "activeDeadlineSeconds", "ttlSecondsAfterFinished", "managedBy"});
    const ProgressIndex progress = transform_progress(object, job, at_rest, progress_watch_, now_());
    if (spec_in_object) *spec_in_object = std::move(spec);
    const bool has_deadlines = !at_rest && progress_watch_ == lifecycle::ProgressWatch::deadlines;
    keep_entries(object, "annotations", has_deadlines ? progress_keys : no_keys);
    keep_entries(object, "labels", at_rest ? no_keys : queue_keys);
    keep_what_decisions_need(
        object, {"annotations", "labels", "generation", "creationTimestamp", "deletionTimestamp"});
    keep_only(object.find("status"),
              {"conditions", "jobsStatus", "runPolicy", "runtimeDigest", "startTime", "completionTime",
               "restarts", "restartsCountTowardsMax", "failures", "attemptStartTime", "nextAttemptTime",
               "consecutiveFailures", "consecutiveUncounted", "trainerStatus"});
    // Nothing is built any more, and nothing fails.
    if (Json* const status = object.find("status"); at_rest && status)
        for (const char* name : {"runtimeDigest", "failures", "attemptStartTime", "nextAttemptTime",
                                 "consecutiveFailures", "consecutiveUncounted"})
            status->erase(name);
    const bool is_abridged = at_rest && abridge_status(object);
    return {.runtime_hash = std::hash<api::ObjectKey>()(runtime_key(job)),
            .expects_job_set = goes_on && lifecycle::had_job_set(job),
            .is_held = goes_on && job.suspend,
            .is_due = goes_on && !job.suspend,
            .is_abridged = is_abridged,
            .state = state,
            .progress = progress};
}

std::optional<api::TrainJob> Cache::train_job(const api::ObjectKey& key) const {
    const auto* entry = train_jobs_.find(key);
    if (!entry) return std::nullopt;
    api::TrainJob job = api::parse_train_job(tree_of(entry->object));
    identify(job.meta, key, entry->object);
    return job;
}

bool Cache::is_abridged(const api::ObjectKey& train_job) const {
    const auto* entry = train_jobs_.find(train_job);
    return entry && entry->index.is_abridged;
}

std::optional<api::JobSet> Cache::job_set(const api::ObjectKey& key) const {
    const auto* entry = job_sets_.find(key);
    if (!entry) return std::nullopt;
    api::JobSet job_set;
    if (entry->index.of_train_job) {
        const Json tree = tree_of(entry->object);
        job_set = api::parse_job_set(tree);
        // The tree has no name.
        job_set.service = api::job_set_names::service(key.name, tree["spec"]);
    }
    identify(job_set.meta, key, entry->object);
    job_set.applied_here = entry->index.applied_here;
    job_set.taken_over = entry->index.taken_over;
    job_set.built_for_nodes = entry->index.built_for_nodes;
    job_set.runtime_digest = entry->index.runtime_digest;
    return job_set;
}

std::shared_ptr<const api::Json> Cache::runtime(const api::TrainJob& job) const {
    const api::ObjectKey key = runtime_key(job);
    const auto* entry = key.ns.empty() ? cluster_training_runtimes_.find(key) : training_runtimes_.find(key);
    if (!entry) return nullptr;
    const kube::StoredObject& object = entry->object;
    if (last_runtime_.uid != object.uid() || last_runtime_.resource_version != object.resource_version())
        last_runtime_ = {std::string(object.uid()), std::string(object.resource_version()),
                         std::make_shared<const Json>(tree_of(object))};
    return last_runtime_.tree;
}

std::size_t Cache::bytes_of(const api::ObjectKey& train_job) const {
    const auto* entry = train_jobs_.find(train_job);
    if (!entry) return 0;
    const auto runtime = runtime_bytes_.find(entry->index.runtime_hash);
    const auto* job_set = job_sets_.find(train_job);
    return entry->size + (runtime == runtime_bytes_.end() ? 0 : runtime->second) +
           (job_set ? job_set->size : 0);
}

bool Cache::synced(std::string_view ns) const {
    return train_jobs_.is_synced(ns) && job_sets_.is_synced(ns) && training_runtimes_.is_synced(ns) &&
           cluster_training_runtimes_.is_synced("");
}

bool Cache::synced_somewhere() const {
    const auto& partitions = namespaces_.partitions();
    return std::any_of(partitions.begin(), partitions.end(),
                       [this](const std::string& partition) { return synced(partition); });
}

void Cache::count(const TrainJobIndex& index, bool added) {
    const auto change = [added](std::size_t& sum) { added ? ++sum : --sum; };
    change(states_[static_cast<std::size_t>(index.state)]);
    if (index.progress.stalled) change(stalled_[static_cast<std::size_t>(*index.progress.stalled)]);
    if (index.progress.is_at_risk) change(at_risk_);
}

void Cache::note(const api::ObjectKey& train_job, const TrainJobEntry* before, const TrainJobEntry* after) {
    if (before) count(before->index, false);
    if (after) count(after->index, true);
    const bool same_runtime = before && after && before->index.runtime_hash == after->index.runtime_hash;
    if (before && !same_runtime) users_of_runtimes_.erase({before->index.runtime_hash, &train_job});
    if (after && !same_runtime) users_of_runtimes_.emplace(after->index.runtime_hash, &train_job);
    const bool gone = before && (!after || after->object.uid() != before->object.uid());
    if (gone && on_delete_) on_delete_(train_job, before->object.uid());
}

void Cache::enqueue_owner(const api::ObjectKey& job_set, const JobSetEntry* before,
                          const JobSetEntry* after) {
    const bool of_train_job = (before && before->index.of_train_job) || (after && after->index.of_train_job);
    const bool comes_or_goes = !before || !after;
    // A cluster may have many JobSets without TrainJobs.
    if (of_train_job || (comes_or_goes && train_jobs_.find(job_set)))
        on_change_(job_set, change_of(Change::Of::job_set, after));
}

void Cache::enqueue_jobs_without_job_set(const std::string& partition) {
    train_jobs_.for_each_in(partition, [&](const api::ObjectKey& job, const auto& entry) {
        if (entry.index.expects_job_set && !job_sets_.find(job)) on_change_(job, {});
    });
}

// Enqueues those TrainJobs only for which the object is made again: suspended ones; if it is made for a run,
// those that run, or wait for the kind; if it is always there, both. Queues hold thousands of TrainJobs back
// that need no such object, and lists of the kind come when an API server has restarted and is busy. If the
// runtime is unknown, the reconcile decides.
void Cache::enqueue_those_without(std::size_t owned_kind, const std::string& partition) {
    const kube::Store<OwnedIndex>& objects = *owned_kinds_[owned_kind].objects;
    const runtime::OwnedFor owned_for = owned_kinds_[owned_kind].plugin->policy()->owned_for;
    std::unordered_set<std::size_t> without;
    const auto note = [&](const api::ObjectKey& runtime, const auto& entry) {
        if (!(entry.index.owned_kinds >> owned_kind & 1))
            without.insert(std::hash<api::ObjectKey>()(runtime));
    };
    training_runtimes_.for_each_in(partition, note);
    cluster_training_runtimes_.for_each(note);
    train_jobs_.for_each_in(partition, [&](const api::ObjectKey& job, const auto& entry) {
        const bool needs_it = (entry.index.is_held && owned_for != runtime::OwnedFor::run) ||
                              (entry.index.is_due && owned_for != runtime::OwnedFor::job);
        if (needs_it && !without.contains(entry.index.runtime_hash) && !objects.find(job))
            on_change_(job, {});
    });
}

// Ignores a change of the status alone: the scheduler writes that of a PodGroup all the time. Those of
// Kubernetes' own scheduler have no generation, so only their creation and their end are seen.
void Cache::enqueue_owner_of(const api::ObjectKey& owned, const OwnedEntry* before, const OwnedEntry* after) {
    const bool same = before && after && before->object.uid() == after->object.uid() &&
                      before->index.generation == after->index.generation;
    if (!same) on_change_(owned, {});
}

// Notes only changes that matter: tenants may have as many runtimes as TrainJobs, and change them as often.
void Cache::note_runtime(const api::ObjectKey& runtime, const RuntimeEntry* before,
                         const RuntimeEntry* after) {
    const std::size_t hash = std::hash<api::ObjectKey>()(runtime);
    if (after)
        runtime_bytes_[hash] = after->size;
    else
        runtime_bytes_.erase(hash);
    const bool same = before && after && before->object.uid() == after->object.uid() &&
                      before->index.spec_hash == after->index.spec_hash;
    // Before the first list of runtimes no JobSet was built.
    const bool listed = runtime.ns.empty() ? cluster_training_runtimes_.is_synced("")
                                           : training_runtimes_.is_synced(runtime.ns);
    if (same || !listed) return;
    const auto user = users_of_runtimes_.lower_bound({hash, nullptr});
    if (user == users_of_runtimes_.end() || user->first != hash) return;
    changed_runtimes_.note(runtime.ns, hash);
    if (on_runtime_) on_runtime_();
}

std::optional<kube::SteadyTime> Cache::enqueue_users(kube::SteadyTime now) {
    if (auto turn = changed_runtimes_.next(now)) {
        auto at = users_of_runtimes_.upper_bound({turn->runtime, turn->last});
        const auto is_user = [&] { return at != users_of_runtimes_.end() && at->first == turn->runtime; };
        std::size_t users = 0;
        for (; is_user() && users < users_in_a_row; ++at, ++users) {
            turn->last = at->second;
            on_change_(*at->second, {});
        }
        changed_runtimes_.ended(*turn, users, !is_user(), now);
    }
    return changed_runtimes_.next_at();
}

std::vector<Cache::Collection> Cache::collections() {
    std::vector<Collection> all;
    const auto add = [&all](kube::Scope scope, const std::vector<kube::Partition>& partitions,
                            bool may_be_missing = false) {
        for (const kube::Partition& partition : partitions) {
            scope.ns = partition.ns;
            all.push_back({scope, partition.sink, may_be_missing});
        }
    };
    add({.resource = kube::resources::train_jobs}, train_jobs_.partitions());
    add({.resource = kube::resources::job_sets, .omit = omitted_of_job_sets}, job_sets_.partitions());
    add({.resource = kube::resources::training_runtimes}, training_runtimes_.partitions());
    add({.resource = kube::resources::cluster_training_runtimes}, cluster_training_runtimes_.partitions());
    for (const OwnedKind& kind : owned_kinds_)
        add({.resource = kind.resource, .metadata_only = true}, kind.objects->partitions(), true);
    return all;
}

}  // namespace controller
