#pragma once
#include "command/command.hpp"
#include "job/targets.hpp"

/// `kubectl trainjob wait`: until TrainJobs run, are suspended, complete or fail.
namespace cli {

enum class Goal { complete, failed, running, suspended };

/// Exit statuses.
enum class Outcome { waits = -1, reached = 0, other_end = 3, gone = 4, timeout = 5 };

struct WaitSettings {
    ClusterSettings cluster = {};
    Targets targets = {};
    Goal goal = Goal::complete;
    std::chrono::milliseconds timeout{0};  ///< 0: no limit
    std::chrono::milliseconds interval{1'000};
};

/// `settings` must outlive the options.
void add_options(net::Options& options, WaitSettings& settings);

/// Prints a line for each TrainJob as soon as its outcome is certain. The status is the highest Outcome; 1 if
/// they cannot be read.
api::Result<Output> wait_for(const WaitSettings& settings);
Command wait_command();

/// Returns the outcome of the wait for one TrainJob. A suspended one is waited for until its last program has
/// ended. One that a queue holds is suspended as well.
Outcome outcome_of(Goal goal, const Brief& job);

/// Returns what a TrainJob does that is still waited for: its state, or "2 Pods stop for 8s: a on n1, b on
/// n2" of one that is to stand still.
std::string what_goes_on(Goal goal, const Brief& job, api::Time now);

}  // namespace cli
