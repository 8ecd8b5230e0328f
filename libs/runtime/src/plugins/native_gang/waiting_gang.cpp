#include "plugins/native_gang/waiting_gang.hpp"

#include <algorithm>

#include "api/condition.hpp"
#include "plugins/gang/gang.hpp"

namespace runtime {
namespace {

using api::Json;

std::string_view group_of(const Json& pod) {
    return pod["spec"]["schedulingGroup"]["podGroupName"].as_string();
}

bool has_ended(const Json& pod) {
    const std::string_view phase = pod["status"]["phase"].as_string();
    return phase == "Failed" || phase == "Succeeded";
}

bool waits(const Json& pod) {
    return !group_of(pod).empty() && pod["spec"]["nodeName"].empty() && !has_ended(pod);
}

// The scheduler looks at no Pod of a gang before all are there, those that have ended not counted, and says
// nothing. Source: pkg/scheduler/framework/plugins/gangscheduling of Kubernetes 1.37.
std::string lack_of(std::int64_t there, std::int64_t size) {
    if (there >= size) return "";
    return (there == 1 ? std::string("1 Pod is there that has")
                       : std::to_string(there) + " Pods are there that have") +
           " not ended";
}

// Returns what the scheduler says of a gang that it has not placed yet.
std::string problem_of(const Json& group) {
    const auto conditions = api::parse_conditions(group["status"]["conditions"]);
    const api::Condition* scheduled = api::find_condition(conditions, "PodGroupInitiallyScheduled");
    return scheduled && !scheduled->is_true() ? scheduled->message : "";
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
        const auto belongs = [name = group["metadata"]["name"].as_string()](const Json& pod) {
            return group_of(pod) == name;
        };
        const std::string of_group = problem_of(group);
        // The scheduler says no more of a gang that it has placed once, also if it finds no place for the
        // Pods that came later.
        const bool is_placed = std::any_of(pods.begin(), pods.end(), [&](const Json& pod) {
            return belongs(pod) && !pod["spec"]["nodeName"].empty();
        });
        const std::int64_t size = group["spec"]["schedulingPolicy"]["gang"]["minCount"].int_or(0);
        const auto there = std::count_if(pods.begin(), pods.end(),
                                         [&](const Json& pod) { return belongs(pod) && !has_ended(pod); });
        for (Json& pod : pods) {
            if (!belongs(pod) || !waits(pod)) continue;
            const std::string own = scheduling_problem(pod);
            std::string problem = of_group.empty() && !is_placed ? own : of_group;
            if (problem.empty() && own.empty()) problem = lack_of(there, size);
            if (!problem.empty())
                set_scheduling_problem(pod, "waits as a gang of " + std::to_string(size) + ": " + problem);
        }
    }
}

}  // namespace runtime
