#include "controller/reconcile/observe.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "api/job_set_names.hpp"
#include "api/names.hpp"
#include "api/train_job.hpp"
#include "cache/owner.hpp"
#include "lifecycle/deadline.hpp"
#include "lifecycle/run_policy.hpp"
#include "lifecycle/stopping.hpp"
#include "lifecycle/ttl.hpp"
#include "net/tls/digest.hpp"
#include "reconcile/changed_meanwhile.hpp"
#include "reconcile/runtime_snapshot.hpp"
#include "runtime/snapshot.hpp"

namespace controller {
namespace {

constexpr std::string_view path_of_templates[] = {"spec", "replicatedJobs", "[]", "template"};
constexpr api::JsonPath rest_of_job_set[] = {managed_fields_path, path_of_templates};
constexpr std::string_view managed_fields_of_jobs[] = {"items", "[]", "metadata", "managedFields"};
constexpr std::string_view templates_of_jobs[] = {"items", "[]", "spec", "template"};
constexpr api::JsonPath rest_of_jobs[] = {managed_fields_of_jobs, templates_of_jobs};
constexpr std::string_view template_path[] = {"spec", "template"};
constexpr api::JsonPath rest_of_job[] = {managed_fields_path, template_path};
// For a list that must be the latest, the API server looks at all Jobs of the namespace, and waits for tens
// of milliseconds if no Job changes. So few Jobs are read one by one.
constexpr std::size_t most_jobs_by_name = 4;

// Only a supported runtimeRef counts. With another kind, the runtime has the name by chance.
void note_live_runtime(View& view) {
    if (!view.runtime || !api::is_supported(view.observed.job->runtime_ref)) return;
    view.observed.live_policy = api::run_policy_of(*view.runtime);
    view.observed.ttl_applies_to = api::ttl_applies_to(*view.runtime);
    view.observed.queue_of_runtime = api::queue_of_job_sets(*view.runtime);
}

}  // namespace

kube::Resource runtime_resource(const api::TrainJob& job) {
    return job.runtime_ref.kind == api::training_runtime_kind ? kube::resources::training_runtimes
                                                              : kube::resources::cluster_training_runtimes;
}

std::string runtime_digest(const api::Json& runtime) {
    return net::digest_text(runtime::digested_text(runtime));
}

api::ObjectKey snapshot_key(const api::ObjectKey& train_job) {
    return {train_job.ns, runtime::snapshot_name(train_job.name)};
}

kube::Request list_jobs(const api::ObjectKey& job_set) {
    const std::string selector = std::string(api::job_set_name_label).append("=").append(job_set.name);
    return {.target = kube::path(kube::resources::jobs, {job_set.ns, ""}) +
                      "?labelSelector=" + kube::percent_encode(selector)};
}

View cached_view(const Cache& cache, const api::ObjectKey& key) {
    View view;
    view.observed.job = cache.train_job(key);
    if (!view.observed.job) return view;
    view.observed.is_abridged = cache.is_abridged(key);
    view.observed.job_set = cache.job_set(key);
    view.observed.objects_of_run = cache.owned_objects(key, runtime::OwnedFor::run);
    view.observed.objects_of_policies = cache.owned_objects(key, runtime::OwnedFor::policy);
    view.runtime = cache.runtime(*view.observed.job);
    note_live_runtime(view);
    return view;
}

namespace {

struct PolicyOfSnapshot {
    api::RunPolicy policy = {};
    std::string digest = {};
};

// A snapshot that is unusable, or not what the job began with, counts as an empty policy: a job that stays
// too long does less harm than one that is deleted by mistake.
kube::Task<std::variant<PolicyOfSnapshot, lifecycle::ReadFailed>> read_policy(kube::ApiServer& server,
                                                                              const View& view) {
    const lifecycle::RuntimeSource source = lifecycle::runtime_source(view.observed);
    auto looked = co_await look_at_snapshot(server, view, source);
    if (auto* unread = std::get_if<lifecycle::ReadFailed>(&looked)) co_return std::move(*unread);
    const auto& seen = std::get<SnapshotView>(looked);
    using From = lifecycle::SnapshotPlan::BuildFrom;
    if (seen.plan.build_from == From::snapshot)
        co_return PolicyOfSnapshot{api::run_policy_of(*seen.runtime), seen.found.snapshot_digest};
    // What was taken over has no policy of the live runtime.
    const std::string began_with = lifecycle::began_with(view.observed).digest;
    if (seen.plan.build_from == From::live && seen.found.live_digest == began_with)
        co_return PolicyOfSnapshot{api::run_policy_of(*view.runtime), began_with};
    co_return PolicyOfSnapshot();
}

}  // namespace

kube::Task<std::optional<lifecycle::ReadFailed>> look_up_policy(kube::ApiServer& server, View& view) {
    lifecycle::Observed& observed = view.observed;
    if (lifecycle::wants_snapshot(observed)) {
        auto read = co_await read_policy(server, view);
        if (auto* unread = std::get_if<lifecycle::ReadFailed>(&read)) co_return std::move(*unread);
        auto& found = std::get<PolicyOfSnapshot>(read);
        observed.snapshot_policy = found.policy;
        observed.snapshot_digest = std::move(found.digest);
    }
    if (!lifecycle::ttl_matters(observed)) co_return std::nullopt;
    const api::TrainJob& job = *observed.job;
    const api::RunPolicy* live = observed.live_policy ? &*observed.live_policy : nullptr;
    const api::RunPolicy* began_with = lifecycle::policy_of(observed);
    std::optional<api::RunPolicy> of_snapshot;
    if (lifecycle::ttl_needs_beginning(job, live, observed.ttl_applies_to)) {
        // The snapshot replaces a runtime that is gone, not one that cannot be read.
        if (view.runtime_unread) co_return view.runtime_unread;
        if (!began_with) {
            auto read = co_await read_policy(server, view);
            if (auto* unread = std::get_if<lifecycle::ReadFailed>(&read)) co_return std::move(*unread);
            of_snapshot = std::get<PolicyOfSnapshot>(read).policy;
            began_with = &*of_snapshot;
        }
    }
    observed.ttl = lifecycle::ttl_policy(job, began_with, live, observed.ttl_applies_to);
    co_return std::nullopt;
}

namespace {

// Reads the runtime of a TrainJob; nullptr if there is none. References must live until the coroutine ends.
kube::Async<CoalescedReads::Tree> read_runtime(kube::ApiServer& server, CoalescedReads& reads,
                                               const api::TrainJob& job) {
    if (!api::is_supported(job.runtime_ref)) co_return CoalescedReads::Tree();
    co_return co_await reads.read(server, runtime_resource(job), runtime_key(job));
}

kube::Async<std::optional<api::Json>> read_job_set(kube::ApiServer& server, api::ObjectKey key,
                                                   lifecycle::Live what, lifecycle::LookFor reason) {
    if (what < lifecycle::Live::all) co_return std::nullopt;
    const bool whole = reason >= lifecycle::LookFor::change;
    const api::JsonPaths omit = whole ? api::JsonPaths() : api::JsonPaths(rest_of_job_set);
    co_return co_await read(server, kube::resources::job_sets, std::move(key), omit);
}

// Returns the names of the Jobs of a JobSet; empty if they are many.
std::vector<std::string> names_of_few_jobs(const api::Json& job_set) {
    std::vector<std::string> names;
    const std::string job_set_name = api::parse_meta(job_set).name;
    for (const api::Json& each : job_set["spec"]["replicatedJobs"].items()) {
        const std::int64_t replicas = each["replicas"].int_or(1);
        for (std::int64_t i = 0; i < replicas; ++i) {
            if (names.size() == most_jobs_by_name) return {};
            names.push_back(api::job_set_names::job(job_set_name, each["name"].as_string(), i));
        }
    }
    return names;
}

}  // namespace

kube::Async<std::vector<api::Json>> read_jobs(kube::ApiServer& server, const api::Json& job_set) {
    const api::ObjectKey key = api::parse_meta(job_set).key();
    const std::vector<std::string> names = names_of_few_jobs(job_set);
    std::vector<api::Json> jobs;
    for (const std::string& name : names) {
        const api::ObjectKey job_key = {key.ns, name};
        auto job = co_await read(server, kube::resources::jobs, job_key, rest_of_job);
        if (!job && job.error().code == api::Errc::too_large) continue;
        if (!job) co_return job.error();
        if (*job) jobs.push_back(std::move(**job));
    }
    if (!names.empty()) co_return jobs;
    kube::Request request = list_jobs(key);
    auto list = co_await kube::fetch(server, std::move(request), rest_of_jobs);
    if (!list && list.error().code == api::Errc::too_large) co_return jobs;
    if (!list) co_return list.error();
    if (api::Json* items = list->find("items")) jobs = std::move(items->items());
    co_return jobs;
}

kube::Async<View> live_view(kube::ApiServer& server, CoalescedReads& reads, const api::TrainJob& seen,
                            lifecycle::Live what, api::Time now, lifecycle::LookFor reason) {
    using namespace boost::asio::experimental::awaitable_operators;
    const api::ObjectKey key = seen.meta.key();
    View view;
    view.live = what;
    const bool in_order = what == lifecycle::Live::in_order;
    const lifecycle::Live at_once = in_order ? lifecycle::Live::job_and_runtime : what;
    auto [job, runtime, job_set] =
        co_await (read(server, kube::resources::train_jobs, key, managed_fields) &&
                  read_runtime(server, reads, seen) && read_job_set(server, key, at_once, reason));
    if (!job) co_return job.error();
    if (!*job) co_return view;
    view.observed.job = api::parse_train_job(std::move(**job));
    // Another TrainJob may have its name now.
    if (view.observed.job->runtime_ref != seen.runtime_ref)
        runtime = co_await read_runtime(server, reads, *view.observed.job);
    if (runtime)
        view.runtime = *runtime;
    else
        view.runtime_unread = lifecycle::ReadFailed{
            view.observed.job->runtime_ref.kind + " " + to_string(runtime_key(*view.observed.job)),
            runtime.error()};
    note_live_runtime(view);
    if (lifecycle::may_have_been_resumed(view.observed)) {
        auto whole = co_await read(server, kube::resources::train_jobs, key);
        if (!whole) co_return whole.error();
        if (!*whole) co_return View{.live = what};
        view.observed.first_resume = lifecycle::first_resume(**whole, now);
        view.observed.job = api::parse_train_job(std::move(**whole));
    }
    if (in_order) job_set = co_await read_job_set(server, key, what, reason);
    if (what >= lifecycle::Live::all) {
        if (!job_set) co_return job_set.error();
        view.observed.is_live = true;
        if (*job_set) {
            view.observed.job_set = api::parse_job_set(**job_set);
            view.observed.is_leftover = is_leftover(**job_set, *view.observed.job);
            if (reason >= lifecycle::LookFor::resume) {
                const auto jobs = co_await read_jobs(server, **job_set);
                if (!jobs) co_return jobs.error();
                view.observed.stopping = lifecycle::stopping(*view.observed.job_set, *jobs);
                view.observed.done = lifecycle::done_pods(*view.observed.job_set, *jobs);
            }
            if (reason >= lifecycle::LookFor::change)
                view.job_set = std::make_shared<const api::Json>(std::move(**job_set));
        } else if (lifecycle::had_job_set(*view.observed.job) &&
                   !api::terminal_condition(*view.observed.job)) {
            // Since the TrainJob was read, another reconciler may have stored the restarts of that JobSet, or
            // that the TrainJob has ended, and deleted the JobSet; and a user may have resumed it. If nobody
            // has written it, it is as it was while there was no JobSet.
            const auto again = co_await read(server, kube::resources::train_jobs, key, managed_fields);
            if (!again) co_return again.error();
            if (!*again || api::parse_meta(**again).uid != view.observed.job->meta.uid)
                co_return View{.live = what};
            if (api::parse_meta(**again).resource_version != view.observed.job->meta.resource_version)
                co_return changed_meanwhile("it has changed while its JobSet was looked at");
        }
    }
    co_return view;
}

}  // namespace controller
