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

std::string message_of(const Json& object, std::string_view type) {
    const auto conditions = api::parse_conditions(object["status"]["conditions"]);
    const api::Condition* found = api::find_condition(conditions, type);
    return found && !found->is_true() ? found->message : "";
}

bool is_placed(const Json& group, const std::vector<Json>& pods) {
    return std::any_of(pods.begin(), pods.end(), [&](const Json& pod) {
        return group_of(pod) == group["metadata"]["name"].as_string() && !pod["spec"]["nodeName"].empty();
    });
}

// Returns "waits as a gang of 4: <message>"; empty if the scheduler has said nothing. Of a gang that it has
// placed once it says no more, also if none of the Pods that came later has a node.
std::string problem_of(const Json& group, const Json& pod, const std::vector<Json>& pods) {
    std::string message = message_of(group, "PodGroupInitiallyScheduled");
    if (message.empty() && !is_placed(group, pods)) message = message_of(pod, "PodScheduled");
    if (message.empty()) return {};
    const std::int64_t size = group["spec"]["schedulingPolicy"]["gang"]["minCount"].int_or(0);
    return "waits as a gang of " + std::to_string(size) + ": " + message;
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
    for (const Json& group : groups)
        for (Json& pod : pods) {
            if (!waits(pod) || group_of(pod) != group["metadata"]["name"].as_string()) continue;
            if (const std::string problem = problem_of(group, pod, pods); !problem.empty())
                set_problem(pod, problem);
        }
}

}  // namespace runtime
