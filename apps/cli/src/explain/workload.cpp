#include "explain/workload.hpp"

#include "api/condition.hpp"

namespace cli {
namespace {

// Kueue's sentences may or may not end with a full stop.
std::string with_message(std::string text, const api::Condition& condition) {
    return condition.message.empty() ? text : text + ": " + condition.message;
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
    if (quota && quota->is_true()) return {"has its quota, and waits for admission checks"};
    if (quota) return {with_message("waits", *quota)};
    const api::Condition* evicted = api::find_condition(conditions, "Evicted");
    if (evicted && evicted->is_true()) return {with_message("evicted", *evicted)};
    return {"Kueue has not looked at it yet"};
}

}  // namespace cli
