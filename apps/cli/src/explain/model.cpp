#include "explain/model.hpp"

#include <algorithm>
#include <numeric>

#include "api/names.hpp"
#include "controller/reconcile/observe.hpp"
#include "explain/differences.hpp"
#include "lifecycle/deadline.hpp"
#include "lifecycle/observed.hpp"
#include "lifecycle/run_policy.hpp"
#include "lifecycle/ttl.hpp"
#include "runtime/snapshot.hpp"
#include "text/duration.hpp"

namespace cli {
namespace {

using api::Json;
using std::chrono::seconds;

std::string text_of(const Json& json) { return std::string(json.as_string()); }

// The status of a JobSet does not show whether Pods run.
PodsRun pods_run(const ReadResult<std::vector<Json>>& pods) {
    if (pods.is_unread()) return PodsRun::unknown;
    const bool any = std::any_of(pods.found.begin(), pods.found.end(), [](const Json& pod) {
        const std::string phase = phase_of(pod);
        return phase != "Pending" && phase != "Failed";
    });
    return any ? PodsRun::yes : PodsRun::no;
}

// Counts the existing training Pods that are ready.
std::int64_t ready_pods(const std::vector<Json>& pods) {
    std::int64_t count = 0;
    for (const Json& pod : pods) {
        const auto conditions = api::parse_conditions(pod["status"]["conditions"]);
        const std::string_view job =
            pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"].as_string();
        count += api::is_true(conditions, "Ready") && !job.ends_with("-initializer") ? 1 : 0;
    }
    return count;
}

// The present runtime counts, as in lists.
Runtimes live_runtime(const RelatedObjects& seen, const api::TrainJob& job) {
    if (!seen.runtime.found.is_object()) return {};
    const bool namespaced = job.runtime_ref.kind == api::training_runtime_kind;
    return {{{namespaced ? job.meta.ns : "", job.runtime_ref.name}, runtime_summary(seen.runtime.found)}};
}

Brief brief_by_pods(const RelatedObjects& seen, const api::TrainJob& job) {
    Brief brief = brief_of(seen.job, live_runtime(seen, job));
    if (brief.needs_jobs && !seen.pods.is_unread()) set_ready_nodes(brief, ready_pods(seen.pods.found));
    brief.state = activity_of(job, pods_run(seen.pods));
    return brief;
}

StatePart state_part(const RelatedObjects& seen, const api::TrainJob& job) {
    StatePart part = {.state = lifecycle::state_of(job),
                      .words = job_state_of(job, pods_run(seen.pods)),
                      .managed_by = job.managed_by,
                      .conditions = job.conditions,
                      .deletion = job.meta.deletion};
    if (const api::Condition* condition = telling_condition(job)) part.telling = *condition;
    return part;
}

// Elections hand over within the duration of the lease and some seconds.
std::string lease_problem(const RelatedObjects& seen, api::Time now) {
    const Json& lease = seen.lease.found;
    const auto renewed = api::parse_time(lease["spec"]["renewTime"].as_string());
    const seconds duration(
        std::clamp<std::int64_t>(lease["spec"]["leaseDurationSeconds"].int_or(15), 15, 86'400));
    if (!renewed || now - *renewed <= 2 * duration) return "";
    const bool is_held = !lease["spec"]["holderIdentity"].as_string().empty();
    return "no reconciler leads: " + to_string(seen.lease_key) +
           (is_held ? " was renewed " : " was released ") + format_duration(now - *renewed) + " ago";
}

LeasePart lease_part(const RelatedObjects& seen, api::Time now) {
    return {.name = to_string(seen.lease_key),
            .problem = lease_problem(seen, now),
            .exists = {.found = !seen.lease.found.is_null(), .unread = seen.lease.unread}};
}

QueuePart queue_part(const RelatedObjects& seen, const api::TrainJob& job) {
    QueuePart part = {.state = {.found = queue_state(seen.workload.found), .unread = seen.workload.unread}};
    if (!api::terminal_condition(job)) part.name = queue_of(job, seen.job_set.found);
    return part;
}

ProgressPart progress_part(const RelatedObjects& seen, const api::TrainJob& job, api::Time now) {
    return {.metrics = seen.job["status"]["trainerStatus"]["metrics"],
            .deadline = progress_deadline_of(seen, job, now)};
}

// Returns the runtime in the snapshot; null if there is no snapshot. Fails if the reconciler would not use
// it.
api::Result<Json> runtime_of_snapshot(const RelatedObjects& seen, const api::TrainJob& job) {
    if (seen.snapshot.found.is_null()) return Json();
    auto runtime = runtime::read_snapshot(seen.snapshot.found, job);
    if (!runtime || job.runtime_digest.empty()) return runtime;
    if (controller::runtime_digest(*runtime) != job.runtime_digest)
        return api::invalid("", "it does not hold the runtime that the job began with");
    return runtime;
}

// What the reconciler would decide on.
lifecycle::Observed observed_of(const api::TrainJob& job, const Json& live, const Json& snapshot) {
    lifecycle::Observed observed = {.job = job};
    if (!live.is_null()) observed.live_policy = api::run_policy_of(live);
    if (!snapshot.is_null()) observed.snapshot_policy = api::run_policy_of(snapshot);
    return observed;
}

std::optional<DeadlinePart> deadline_part(const lifecycle::Observed& observed) {
    using Source = lifecycle::ActiveDeadline::Source;
    const auto found = lifecycle::active_deadline(observed);
    if (!found) return std::nullopt;
    const api::TrainJob& job = *observed.job;
    return DeadlinePart{
        .limit = seconds(found->seconds),
        .source = found->source == Source::train_job ? "" : lifecycle::source_of(*found, job),
        .end = lifecycle::deadline(observed),
        .is_since_resume = api::find_condition(job.conditions, api::condition::suspended) != nullptr};
}

TimeToLivePart ttl_part(const lifecycle::Observed& observed, bool is_unread, api::Time now) {
    const api::TrainJob& job = *observed.job;
    if (job.is_multikueue_copy) return {.is_deleted_elsewhere = true};
    const api::RunPolicy* live = observed.live_policy ? &*observed.live_policy : nullptr;
    if (is_unread && lifecycle::ttl_needs_beginning(job, live)) return {.is_unknown = true};
    const api::RunPolicy* began_with = lifecycle::policy_of(observed);
    if (!began_with && observed.snapshot_policy) began_with = &*observed.snapshot_policy;
    const auto ttl = lifecycle::ttl_policy(job, began_with, live);
    if (!ttl) return {};
    return {.limit = seconds(*ttl), .left = lifecycle::time_to_live(job, ttl, now)};
}

RuntimePart runtime_part(const RelatedObjects& seen, const api::TrainJob& job,
                         const api::Result<Json>& snapshot) {
    const Json& live = seen.runtime.found;
    RuntimePart part = {.name = job.runtime_ref.kind + " " + job.runtime_ref.name,
                        .exists = {.found = !live.is_null(), .unread = seen.runtime.unread},
                        .has_snapshot = snapshot && !snapshot->is_null(),
                        .snapshot_unread = seen.snapshot.unread};
    if (!snapshot) part.snapshot_problem = api::describe(snapshot.error());
    if (part.has_snapshot && part.exists.found)
        part.changes = field_differences((*snapshot)["spec"], live["spec"]);
    return part;
}

JobSetPart job_set_part(const Json& object, const api::TrainJob& job) {
    if (object.is_null()) return {};
    JobSetPart part = {.object = api::parse_job_set(object),
                       .restarts = object["status"]["restarts"].as_int()};
    part.is_own = part.object->belongs_to(job);
    const api::Condition* end = api::terminal_condition(job);
    const auto& finished = part.object->finished;
    part.is_late =
        finished && finished->type == "Completed" && end && end->reason == api::reason::deadline_exceeded;
    return part;
}

std::vector<PodPart> pod_parts(const std::vector<Json>& pods, api::Time now) {
    std::vector<PodPart> parts;
    for (const Json& pod : pods)
        parts.push_back({.name = text_of(pod["metadata"]["name"]),
                         .phase = phase_of(pod),
                         .node = text_of(pod["spec"]["nodeName"]),
                         .problem = problem_of(pod, now)});
    std::vector<std::size_t> order(pods.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return comes_before(pods[a], pods[b]); });
    for (std::size_t rank = 0; rank < order.size(); ++rank) parts[order[rank]].rank = rank;
    return parts;
}

}  // namespace

Explanation explanation_of(const RelatedObjects& seen, api::Time now) {
    const api::TrainJob job = api::parse_train_job(seen.job);
    const auto snapshot = runtime_of_snapshot(seen, job);
    const lifecycle::Observed observed = observed_of(job, seen.runtime.found, snapshot ? *snapshot : Json());
    return {.now = now,
            .brief = brief_by_pods(seen, job),
            .state = state_part(seen, job),
            .refusals = policy_refusals(seen),
            .lease = lease_part(seen, now),
            .queue = queue_part(seen, job),
            .progress = progress_part(seen, job, now),
            .deadline = deadline_part(observed),
            .ttl = ttl_part(observed, seen.runtime.is_unread(), now),
            .runtime = runtime_part(seen, job, snapshot),
            .job_set = {.found = job_set_part(seen.job_set.found, job), .unread = seen.job_set.unread},
            .pods = {.found = pod_parts(seen.pods.found, now), .unread = seen.pods.unread},
            .events = {.found = event_lines_of(seen.events.found), .unread = seen.events.unread}};
}

}  // namespace cli
