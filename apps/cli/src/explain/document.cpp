#include "api/condition.hpp"
#include "explain/model.hpp"

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

Json pod_row(const PodPart& pod) {
    Json row = Json::object({{"name", pod.name}, {"phase", pod.phase}});
    if (!pod.node.empty()) row["node"] = pod.node;
    if (!pod.problem.empty()) row["problem"] = pod.problem;
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

std::string_view to_string(PolicyRefusal::By by) {
    using By = PolicyRefusal::By;
    switch (by) {
        case By::webhook: return "webhook";
        case By::unreachable_webhook: return "unreachableWebhook";
        case By::quota: return "quota";
        case By::admission_policy: return "validatingAdmissionPolicy";
        case By::pod_security: return "podSecurity";
        case By::limit_range: return "limitRange";
        case By::default_limit: return "defaultLimit";
        case By::security_context_constraints: return "securityContextConstraints";
        case By::missing_object: return "missingObject";
    }
    return "?";
}

Json refusal_row(const PolicyRefusal& refusal) {
    Json row = Json::object(
        {{"object", refusal.object}, {"by", to_string(refusal.by)}, {"message", refusal.message}});
    if (!refusal.name.empty()) row["name"] = refusal.name;
    return row;
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

Json document_of(const Explanation& explanation) {
    Json document = list_row(explanation.brief);
    if (const auto& condition = explanation.state.telling) {
        document["message"] = condition->message;
        document["since"] = api::format_time(condition->last_transition);
    }
    if (const std::string& problem = explanation.lease.problem; !problem.empty()) document["lease"] = problem;
    document["conditions"] = Json::array();
    for (const api::Condition& each : explanation.state.conditions)
        document["conditions"].push_back(condition_row(each));
    if (!explanation.state.failures.empty())
        document["failures"] = api::to_json_tree(explanation.state.failures);
    if (const Json& metrics = explanation.progress.metrics; metrics.is_array())
        document["progress"]["metrics"] = metrics;
    if (const auto& start = explanation.progress.start)
        document["startDeadline"] = progress_deadline_row(*start);
    if (const auto& deadline = explanation.progress.deadline)
        document["progressDeadline"] = progress_deadline_row(*deadline);
    if (const auto& job_set = explanation.job_set.found.object) {
        document["restarts"] = job_set->restarts.all;
        for (const std::string& node : job_set->excluded_nodes) document["excludedNodes"].push_back(node);
    }
    const QueuePart& queue = explanation.queue;
    if (!queue.name.empty() && !queue.state.is_unread()) document["queueStanding"] = queue.state.found.text;
    for (const PolicyRefusal& each : explanation.refusals) document["refused"].push_back(refusal_row(each));
    document["pods"] = Json::array();
    for (const PodPart& pod : explanation.pods.found) document["pods"].push_back(pod_row(pod));
    document["events"] = Json::array();
    for (const EventLine& event : explanation.events.found) document["events"].push_back(event_row(event));
    for (const std::string& change : explanation.runtime.changes)
        document["runtime"]["changes"].push_back(change);
    note_unread(document, "runtime", explanation.runtime.exists.unread);
    note_unread(document, "snapshot", explanation.runtime.snapshot_unread);
    note_unread(document, "jobSet", explanation.job_set.unread);
    note_unread(document, "workload", queue.state.unread);
    note_unread(document, "pods", explanation.pods.unread);
    note_unread(document, "events", explanation.events.unread);
    // The role `view` may not read leases. If the job progresses, the lease does not matter.
    if (explanation.state.state == lifecycle::State::pending)
        note_unread(document, "lease", explanation.lease.exists.unread);
    return document;
}

}  // namespace cli
