#include "plugins/native_gang/waiting_gang.hpp"

#include <algorithm>

#include "api/condition.hpp"

namespace runtime {
namespace {

using api::Json;

std::string_view group_of(const Json& pod) {
    return pod["spec"]["schedulingGroup"]["podGroupName"].as_string();
}

bool waits(const Json& pod) {
    return !group_of(pod).empty() && pod["spec"]["nodeName"].empty() &&
           pod["status"]["phase"].as_string() != "Failed";
}

// Returns "waits as a gang of 4: <message>"; empty if the scheduler has said nothing, or has placed the gang
// and looks for a place of a Pod that is to replace one.
std::string problem_of(const Json& group) {
    const auto conditions = api::parse_conditions(group["status"]["conditions"]);
    const api::Condition* scheduled = api::find_condition(conditions, "PodGroupInitiallyScheduled");
    if (!scheduled || scheduled->is_true()) return {};
    const std::int64_t size = group["spec"]["schedulingPolicy"]["gang"]["minCount"].int_or(0);
    return "waits as a gang of " + std::to_string(size) + ": " + scheduled->message;
}

void set_problem(Json& pod, const std::string& problem) {
    Json& conditions = pod["status"]["conditions"];
    if (!conditions.is_array()) conditions = Json::array();
    std::erase_if(conditions.items(),
                  [](const Json& each) { return each["type"].as_string() == "PodScheduled"; });
    conditions.push_back(Json::object({{"type", "PodScheduled"}, {"status", "False"}, {"message", problem}}));
}

}  // namespace

std::optional<RelatedObjects> group_of_waiting(const std::vector<Json>& pods) {
    const auto first = std::find_if(pods.begin(), pods.end(), waits);
    if (first == pods.end()) return std::nullopt;
    return RelatedObjects{.resource = native_pod_groups,
                          .fields = "metadata.name=" + std::string(group_of(*first))};
}

void add_gang_problem(std::vector<Json>& pods, const std::vector<Json>& groups) {
    for (const Json& group : groups) {
        const std::string problem = problem_of(group);
        if (problem.empty()) continue;
        for (Json& pod : pods)
            if (waits(pod) && group_of(pod) == group["metadata"]["name"].as_string())
                set_problem(pod, problem);
    }
}

}  // namespace runtime
