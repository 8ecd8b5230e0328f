#pragma once
#include "cluster/cluster.hpp"
#include "command/command.hpp"
#include "job/brief.hpp"

/// `kubectl trainjob delete`: TrainJobs that have ended.
namespace cli {

/// Written as a duration with days and weeks: 7d, 2w, 36h, 1h30m.
struct Age {
    std::chrono::seconds time{0};
};
api::Result<> read_option(std::string_view text, Age& target);
std::string show_option(Age value);

struct DeleteSettings {
    ClusterSettings cluster = {};
    bool ended = false;
    Age older_than = {};
    bool all_namespaces = false;
    std::string selector = {};
    bool dry_run = false;
};

/// `settings` must outlive the options.
void add_options(net::Options& options, DeleteSettings& settings);

/// Prints a line for each TrainJob. Status 1 if one could not be deleted.
api::Result<Output> delete_ended(const DeleteSettings& settings);
Command delete_command();

/// Returns whether the TrainJob has ended at least that long ago.
bool has_ended_before(const Brief& job, Age age, api::Time now);

}  // namespace cli
