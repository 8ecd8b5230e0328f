#include "plugins/yunikorn/gang_room.hpp"

#include <set>

#include "api/names.hpp"
#include "plugins/gang/gang.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr std::string_view application_label = "yunikorn.apache.org/app-id";
// A TrainJob has two of them, and two more while Pods of before its last resume end.
constexpr std::size_t most_applications = 16;
constexpr std::string_view placeholder_annotation = "internal.yunikorn.apache.org/placeholder";

std::string_view application_of(const Json& pod) {
    return pod["metadata"]["labels"][application_label].as_string();
}

bool has_node(const Json& pod) { return !pod["spec"]["nodeName"].empty(); }

bool waits_without_reason(const Json& pod) {
    return !application_of(pod).empty() && !has_node(pod) && scheduling_problem(pod).empty() &&
           pod["status"]["phase"].as_string() != "Failed";
}

// Returns "room is held for 1 of 2 Pods of its gang: no resources"; empty if nothing is wrong.
std::string missing_room(std::string_view application, const std::vector<Json>& placeholders) {
    std::size_t all = 0, held = 0;
    std::string problem;
    for (const Json& each : placeholders) {
        if (application_of(each) != application ||
            each["metadata"]["annotations"][placeholder_annotation].as_string() != "true")
            continue;
        ++all;
        if (has_node(each))
            ++held;
        else if (problem.empty())
            problem = scheduling_problem(each);
    }
    if (problem.empty()) return "";
    return "room is held for " + std::to_string(held) + " of " + std::to_string(all) +
           " Pods of its gang: " + problem;
}

}  // namespace

std::string selector_of_placeholders(const std::vector<Json>& pods) {
    std::set<std::string_view> applications;
    for (const Json& pod : pods)
        if (waits_without_reason(pod) && applications.size() < most_applications)
            applications.insert(application_of(pod));
    if (applications.empty()) return "";
    std::string names;
    for (const std::string_view each : applications) names.append(names.empty() ? "" : ",").append(each);
    return std::string(application_label) + " in (" + names + "),!" + std::string(api::job_set_name_label);
}

void add_missing_room(std::vector<Json>& pods, const std::vector<Json>& placeholders) {
    for (Json& pod : pods) {
        if (!waits_without_reason(pod)) continue;
        const std::string problem = missing_room(application_of(pod), placeholders);
        if (!problem.empty()) set_scheduling_problem(pod, problem);
    }
}

}  // namespace runtime
