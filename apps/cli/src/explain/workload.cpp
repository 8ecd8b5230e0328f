#include "explain/workload.hpp"

#include "api/condition.hpp"

namespace cli {
namespace {

// Kueue's sentences may or may not end with a full stop.
std::string with_message(std::string text, const api::Condition& condition) {
    return condition.message.empty() ? text : text + ": " + condition.message;
}

// "the admission check provisioning (Pending): no machines yet"; several with commas.
std::string open_checks(const api::Json& workload) {
    std::string text;
    for (const api::Json& check : workload["status"]["admissionChecks"].items()) {
        const std::string_view state = check["state"].as_string();
        if (state == "Ready") continue;
        text += text.empty() ? "the admission check " : ", ";
        text.append(check["name"].as_string()).append(" (").append(state).append(")");
        if (const std::string_view message = check["message"].as_string(); !message.empty())
            text.append(": ").append(message);
    }
    return text.empty() ? "admission checks" : text;
}

}  // namespace

QueueStanding queue_standing(const api::Json& workload) {
    if (workload.is_null()) return {"Kueue has made no Workload for it yet"};
    if (!workload["spec"]["active"].bool_or(true)) return {"held: spec.active of its Workload is false"};
    const auto conditions = api::parse_conditions(workload["status"]["conditions"]);
    if (api::is_true(conditions, "Admitted"))
        return {"admitted by the ClusterQueue " +
                    std::string(workload["status"]["admission"]["clusterQueue"].as_string()),
                Tone::good};
    const api::Condition* quota = api::find_condition(conditions, "QuotaReserved");
    if (quota && quota->is_true()) return {"has its quota, and waits for " + open_checks(workload)};
    if (quota) return {with_message("waits", *quota)};
    const api::Condition* evicted = api::find_condition(conditions, "Evicted");
    if (evicted && evicted->is_true()) return {with_message("evicted", *evicted)};
    return {"Kueue has not looked at it yet"};
}

}  // namespace cli
