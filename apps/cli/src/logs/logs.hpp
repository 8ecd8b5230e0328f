#pragma once
#include <cstdint>
#include <string>

#include "cluster/cluster.hpp"
#include "command/command.hpp"

/// `kubectl trainjob logs`: the output of all Pods of a TrainJob.
namespace cli {

struct LogsSettings {
    ClusterSettings cluster = {};
    std::string train_job = {};  ///< NAMESPACE/NAME, or a name
    std::int64_t node = -1;      ///< negative: all
    std::string container = {};
    std::int64_t tail = -1;  ///< lines of each Pod; negative: all
    bool follow = false;
    bool previous = false;  ///< the attempts before the last restarts
    bool prefix = false;
};

/// `settings` must outlive the options.
void add_options(net::Options& options, LogsSettings& settings);

/// Prints the lines of all Pods by their time. With `follow` it prints them as they come, also those of later
/// Pods, until the TrainJob has ended. A node that does not answer for ten seconds is named and left out.
/// Status 1 if there is no Pod, or if the output of one cannot be read.
api::Result<Output> logs(const LogsSettings& settings);
Command logs_command();

}  // namespace cli
