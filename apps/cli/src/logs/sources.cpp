#include "logs/sources.hpp"

#include <algorithm>

#include "api/names.hpp"
#include "job/findings.hpp"
#include "job/pods.hpp"

namespace cli {
namespace {

using api::Json;

std::string label_of(const Json& pod, std::string_view name) {
    return std::string(pod["metadata"]["labels"][name].as_string());
}

std::string index_of(const Json& pod) { return label_of(pod, api::completion_index_label); }

// "night-node-0" of the JobSet "night" is "node-0".
std::string short_name(const Json& pod) {
    std::string job = label_of(pod, "batch.kubernetes.io/job-name");
    const std::string prefix = label_of(pod, api::job_set_name_label) + "-";
    if (job.starts_with(prefix)) job.erase(0, prefix.size());
    if (job.empty()) return std::string(pod["metadata"]["name"].as_string());
    const std::string index = index_of(pod);
    return index.empty() ? job : job + "-" + index;
}

std::string container_of(const Json& pod, const std::string& wanted) {
    if (!wanted.empty()) return wanted;
    const Json& containers = pod["spec"]["containers"];
    for (const Json& each : containers.items())
        if (each["name"].as_string() == api::node_container) return std::string(api::node_container);
    return std::string(containers[std::size_t(0)]["name"].as_string());
}

void note_state(const Json& pod, LogSource& source) {
    for (const char* kind : {"containerStatuses", "initContainerStatuses"})
        for (const Json& status : pod["status"][kind].items()) {
            if (status["name"].as_string() != source.container) continue;
            source.restarts = status["restartCount"].int_or(0);
            source.state = status["state"].contains("running")      ? ContainerState::running
                           : status["state"].contains("terminated") ? ContainerState::ended
                                                                    : ContainerState::waiting;
        }
    source.id = std::string(pod["metadata"]["uid"].as_string()) + "/" + std::to_string(source.restarts);
}

bool is_job(const Json& pod, std::string_view name) {
    return label_of(pod, api::replicated_job_label) == name;
}

}  // namespace

std::vector<LogSource> log_sources(std::vector<Json> pods, std::optional<std::int64_t> node,
                                   const std::string& container, api::Time now) {
    std::sort(pods.begin(), pods.end(), comes_before);
    if (node) {
        const bool named = std::any_of(pods.begin(), pods.end(),
                                       [](const Json& pod) { return is_job(pod, api::node_container); });
        std::erase_if(pods, [&](const Json& pod) {
            const bool trains = named ? is_job(pod, api::node_container)
                                      : !label_of(pod, api::replicated_job_label).ends_with("-initializer");
            return !trains || index_of(pod) != std::to_string(*node);
        });
    }
    std::vector<LogSource> sources;
    for (const Json& pod : pods) {
        LogSource source = {.pod = std::string(pod["metadata"]["name"].as_string()),
                            .container = container_of(pod, container),
                            .label = short_name(pod),
                            .node = std::string(pod["spec"]["nodeName"].as_string()),
                            .is_silent = silence_of(pod).has_value()};
        if (const PodFacts facts = pod_facts(pod, now); facts.does == PodDoes::cannot_start)
            source.obstacle = facts.cause;
        note_state(pod, source);
        sources.push_back(std::move(source));
    }
    return sources;
}

LogLine log_line(std::string_view line) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return {.stamp = std::string(line)};
    return {.stamp = std::string(line.substr(0, space)), .text = std::string(line.substr(space + 1))};
}

}  // namespace cli
