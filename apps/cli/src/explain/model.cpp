#include "explain/model.hpp"

#include <algorithm>
#include <numeric>

#include "api/job_set_names.hpp"
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

// Jobs are not read: their limits are in the JobSet, and otherwise the default of Kubernetes.
BackoffLimits backoff_limits(const Json& job_set, const std::vector<PodFacts>& pods) {
    BackoffLimits limits;
    const std::string name = text_of(job_set["metadata"]["name"]);
    for (const Json& each : job_set["spec"]["replicatedJobs"].items())
        for (const PodFacts& pod : pods)
            if (api::job_set_names::is_job(pod.job, name, each["name"].as_string()))
                limits[pod.job] = each["template"]["spec"]["backoffLimit"].int_or(6);
    return limits;
}

PodsState pods_of(const RelatedObjects& seen, const api::TrainJob& job, api::Time now) {
    if (seen.pods.is_unread()) return {};
    std::vector<PodFacts> pods;
    for (const Json& pod : seen.pods.found) pods.push_back(pod_facts(pod, now, seen.nodes));
    const BackoffLimits limits = backoff_limits(seen.job_set.found, pods);
    return pods_state(std::move(pods), job.meta.creation, limits, now);
}

// The present runtime counts, as in lists.
Runtimes live_runtime(const RelatedObjects& seen, const api::TrainJob& job) {
    if (!seen.runtime.found.is_object()) return {};
    const bool namespaced = job.runtime_ref.kind == api::training_runtime_kind;
    return {{{namespaced ? job.meta.ns : "", job.runtime_ref.name}, runtime_summary(seen.runtime.found)}};
}

Brief brief_by_pods(const RelatedObjects& seen, const api::TrainJob& job, const PodsState& pods) {
    Brief brief = brief_of(seen.job, live_runtime(seen, job));
    if (pods.is_read)
        set_pods(brief, pods);
    else
        brief.state = activity_of(brief.stage, pods);
    return brief;
}

StatePart state_part(const api::TrainJob& job, const PodsState& pods) {
    StatePart part = {.state = lifecycle::state_of(job),
                      .words = job_state_of(stage_of(job), pods),
                      .managed_by = job.managed_by,
                      .conditions = job.conditions,
                      .failures = job.failures,
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
            .start = start_deadline_of(seen, job, now),
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
lifecycle::Observed observed_of(const api::TrainJob& job, const Json& job_set, const Json& live,
                                const Json& snapshot) {
    lifecycle::Observed observed = {.job = job};
    if (!job_set.is_null()) observed.job_set = api::parse_job_set(job_set);
    if (!live.is_null()) observed.live_policy = api::run_policy_of(live);
    observed.ttl_applies_to = api::ttl_applies_to(live);
    observed.queue_of_runtime = api::queue_of_job_sets(live);
    if (!snapshot.is_null()) observed.snapshot_policy = api::run_policy_of(snapshot);
    return observed;
}

std::optional<DeadlinePart> deadline_part(const lifecycle::Observed& observed) {
    using Source = lifecycle::ActiveDeadline::Source;
    const auto found = lifecycle::active_deadline(observed);
    if (!found) return std::nullopt;
    const api::TrainJob& job = *observed.job;
    const api::JobSet* job_set = lifecycle::own_job_set(observed);
    return DeadlinePart{.limit = seconds(found->seconds),
                        .source = found->source == Source::train_job ? "" : lifecycle::source_of(*found, job),
                        .end = lifecycle::deadline(observed),
                        .is_since_resume = lifecycle::clock_start(observed) != job.meta.creation,
                        .waits_in_queue = !job.suspend && !lifecycle::clock_start(observed) &&
                                          (job_set || !observed.queue_of_runtime.empty())};
}

TimeToLivePart ttl_part(const lifecycle::Observed& observed, bool is_unread, api::Time now) {
    const api::TrainJob& job = *observed.job;
    if (job.is_multikueue_copy) return {.is_deleted_elsewhere = true};
    const api::RunPolicy* live = observed.live_policy ? &*observed.live_policy : nullptr;
    if (is_unread && lifecycle::ttl_needs_beginning(job, live, observed.ttl_applies_to))
        return {.is_unknown = true};
    const api::RunPolicy* began_with = lifecycle::policy_of(observed);
    if (!began_with && observed.snapshot_policy) began_with = &*observed.snapshot_policy;
    const auto ttl = lifecycle::ttl_policy(job, began_with, live, observed.ttl_applies_to);
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

// Returns the newest note that this JobSet stays as it was built.
std::string kept_note(const std::vector<Json>& events, const api::JobSet& job_set) {
    std::string note;
    api::Time newest = job_set.meta.creation;
    for (const Json& event : events) {
        const auto time = time_of_event(event);
        if (event["reason"].as_string() != lifecycle::event_reason::job_set_kept || !time || *time < newest)
            continue;
        newest = *time;
        note = text_of(event["message"]);
    }
    return note;
}

JobSetPart job_set_part(const Json& object, const std::vector<Json>& events, const api::TrainJob& job) {
    if (object.is_null()) return {};
    JobSetPart part = {.object = api::parse_job_set(object)};
    part.is_own = part.object->belongs_to(job);
    if (part.is_own && !api::terminal_condition(job)) part.kept = kept_note(events, *part.object);
    const api::Condition* end = api::terminal_condition(job);
    const auto& finished = part.object->finished;
    part.is_late =
        finished && finished->type == "Completed" && end && end->reason == api::reason::deadline_exceeded;
    return part;
}

std::vector<PodPart> pod_parts(const RelatedObjects& seen, api::Time job_created, api::Time now) {
    const std::vector<Json>& pods = seen.pods.found;
    std::vector<PodPart> parts;
    for (const Json& pod : pods)
        parts.push_back({.name = text_of(pod["metadata"]["name"]),
                         .phase = phase_of(pod),
                         .node = text_of(pod["spec"]["nodeName"]),
                         .problem = is_of_namesake(pod, job_created)
                                        ? "of an earlier TrainJob of this name"
                                        : problem_of(pod, now, seen.nodes, seen.events.found)});
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
    const lifecycle::Observed observed =
        observed_of(job, seen.job_set.found, seen.runtime.found, snapshot ? *snapshot : Json());
    const PodsState pods = pods_of(seen, job, now);
    return {.now = now,
            .brief = brief_by_pods(seen, job, pods),
            .state = state_part(job, pods),
            .refusals = policy_refusals(seen),
            .lease = lease_part(seen, now),
            .queue = queue_part(seen, job),
            .progress = progress_part(seen, job, now),
            .deadline = deadline_part(observed),
            .ttl = ttl_part(observed, seen.runtime.is_unread(), now),
            .runtime = runtime_part(seen, job, snapshot),
            .job_set = {.found = job_set_part(seen.job_set.found, seen.events.found, job),
                        .unread = seen.job_set.unread},
            .pods = {.found = pod_parts(seen, job.meta.creation, now), .unread = seen.pods.unread},
            .events = {.found = event_lines_of(seen.events.found), .unread = seen.events.unread}};
}

}  // namespace cli
