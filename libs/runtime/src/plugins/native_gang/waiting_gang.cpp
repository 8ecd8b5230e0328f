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

bool waits(const Json& pod) {
    return !group_of(pod).empty() && pod["spec"]["nodeName"].empty() &&
           pod["status"]["phase"].as_string() != "Failed";
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
        for (Json& pod : pods) {
            if (!belongs(pod) || !waits(pod)) continue;
            const std::string own = is_placed ? "" : scheduling_problem(pod);
            if (const std::string& problem = of_group.empty() ? own : of_group; !problem.empty())
                set_scheduling_problem(pod, "waits as a gang of " + std::to_string(size) + ": " + problem);
        }
    }
}

}  // namespace runtime
