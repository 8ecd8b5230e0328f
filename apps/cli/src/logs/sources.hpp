#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "api/time.hpp"

namespace cli {

enum class ContainerState : std::uint8_t { waiting, running, ended };

/// A container whose output is shown.
struct LogSource {
    std::string pod = {};
    std::string container = {};
    std::string label = {};  ///< "node-0-1": job, its number, number of the Pod
    std::string id = {};     ///< differs after each restart
    std::string node = {};
    bool is_silent = false;     ///< nothing is heard of the node
    std::string obstacle = {};  ///< why the Pod cannot start
    std::int64_t restarts = 0;  ///< of the container
    ContainerState state = ContainerState::waiting;
};

/// Returns the containers of a TrainJob's Pods in the order of their Jobs: `container`, or else "node", or
/// else the first. `node`: only the training Pods with that number, those of the job "node" if there is one.
std::vector<LogSource> log_sources(std::vector<api::Json> pods, std::optional<std::int64_t> node,
                                   const std::string& container, api::Time now = {});

/// A line as the API server sends it with `timestamps=true`.
struct LogLine {
    std::string stamp = {};  ///< sorts as text
    std::string text = {};
};

LogLine log_line(std::string_view line);

}  // namespace cli
