#pragma once
#include <string>

#include "cluster/cluster.hpp"
#include "command/command.hpp"

/// `kubectl trainjob timeline`: the stages of a TrainJob, and lost time.
namespace cli {

struct TimelineSettings {
    ClusterSettings cluster = {};
    std::string train_job = {};  ///< NAMESPACE/NAME, or a name
    std::string svg = {};        ///< a file for the picture; "-": standard output; empty: none
};

/// `settings` must outlive the options.
void add_options(net::Options& options, TimelineSettings& settings);

/// Status 1 if the TrainJob cannot be read, or the picture cannot be written.
api::Result<Output> timeline(const TimelineSettings& settings);
Command timeline_command();

}  // namespace cli
