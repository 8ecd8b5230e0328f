#include "explain/model.hpp"

#include "api/names.hpp"
#include "explain/differences.hpp"
#include "explain/policy_refusals.hpp"
#include "explain/progress.hpp"
#include "job/brief.hpp"
#include "job/findings.hpp"
#include "lifecycle/state.hpp"

namespace cli {
namespace {

using api::Json;

Json condition_row(const api::Condition& condition) {
    return Json::object({{"type", condition.type},
                         {"status", condition.status},
                         {"reason", condition.reason},
                         {"message", condition.message},
                         {"since", api::format_time(condition.last_transition)}});
}

Json pod_row(const Json& pod, api::Time now) {
    Json row = Json::object({{"name", pod["metadata"]["name"]}, {"phase", phase_of(pod)}});
    if (const Json& node = pod["spec"]["nodeName"]; !node.empty()) row["node"] = node;
    if (const std::string problem = problem_of(pod, now); !problem.empty()) row["problem"] = problem;
    return row;
}

Json event_row(const EventLine& event) {
    return Json::object({{"object", event.object},
                         {"reason", event.reason},
                         {"message", event.message},
                         {"count", event.count},
                         {"last", api::format_time(event.last)},
                         {"warning", event.warning}});
}

Json refusal_row(const PolicyRefusal& refusal) {
    Json row = Json::object(
        {{"object", refusal.object}, {"by", to_string(refusal.by)}, {"message", refusal.message}});
    if (!refusal.name.empty()) row["name"] = refusal.name;
    return row;
}

// The present runtime counts, as in lists.
Runtimes live_runtime(const RelatedObjects& seen, const api::TrainJob& job) {
    if (!seen.runtime.found.is_object()) return {};
    const bool namespaced = job.runtime_ref.kind == api::training_runtime_kind;
    return {{{namespaced ? job.meta.ns : "", job.runtime_ref.name}, runtime_summary(seen.runtime.found)}};
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

Json progress_deadline_row(const ProgressDeadline& deadline) {
    Json row =
        Json::object({{"seconds", deadline.seconds}, {"action", deadline.action}, {"armed", deadline.armed}});
    if (deadline.passes) row["passes"] = api::format_time(*deadline.passes);
    if (!deadline.remark.empty()) row["remark"] = deadline.remark;
    return row;
}

void note_unread(Json& document, const char* what, const std::string& why) {
    if (!why.empty()) document["unread"][what] = why;
}

}  // namespace

Json explain_document(const RelatedObjects& seen, api::Time now) {
    const api::TrainJob job = api::parse_train_job(seen.job);
    Brief brief = brief_of(seen.job, live_runtime(seen, job));
    if (brief.needs_jobs && !seen.pods.is_unread()) set_ready_nodes(brief, ready_pods(seen.pods.found));
    Json document = list_row(brief);
    document["state"] = activity_of(job, pods_run(seen.pods)).word;
    if (const api::Condition* condition = telling_condition(job)) {
        document["message"] = condition->message;
        document["since"] = api::format_time(condition->last_transition);
    }
    if (const std::string problem = lease_problem(seen, now); !problem.empty()) document["lease"] = problem;
    document["conditions"] = Json::array();
    for (const api::Condition& each : job.conditions) document["conditions"].push_back(condition_row(each));
    if (const Json& metrics = seen.job["status"]["trainerStatus"]["metrics"]; metrics.is_array())
        document["progress"]["metrics"] = metrics;
    if (const auto deadline = progress_deadline_of(seen, job, now))
        document["progressDeadline"] = progress_deadline_row(*deadline);
    if (const auto restarts = seen.job_set.found["status"]["restarts"].as_int())
        document["restarts"] = *restarts;
    if (!queue_of(job, seen.job_set.found).empty() && !brief.ended && !seen.workload.is_unread())
        document["queueStanding"] = queue_state(seen.workload.found).text;
    for (const PolicyRefusal& each : policy_refusals(seen)) document["refused"].push_back(refusal_row(each));
    document["pods"] = Json::array();
    for (const Json& pod : seen.pods.found) document["pods"].push_back(pod_row(pod, now));
    document["events"] = Json::array();
    for (const EventLine& event : event_lines_of(seen.events.found))
        document["events"].push_back(event_row(event));
    const auto snapshot = runtime_of_snapshot(seen, job);
    if (snapshot && snapshot->is_object() && seen.runtime.found.is_object())
        for (const std::string& change : field_differences((*snapshot)["spec"], seen.runtime.found["spec"]))
            document["runtime"]["changes"].push_back(change);
    note_unread(document, "runtime", seen.runtime.unread);
    note_unread(document, "snapshot", seen.snapshot.unread);
    note_unread(document, "jobSet", seen.job_set.unread);
    note_unread(document, "workload", seen.workload.unread);
    note_unread(document, "pods", seen.pods.unread);
    note_unread(document, "events", seen.events.unread);
    // The role `view` may not read leases. If the job progresses, the lease does not matter.
    if (lifecycle::state_of(job) == lifecycle::State::pending)
        note_unread(document, "lease", seen.lease.unread);
    return document;
}

}  // namespace cli
