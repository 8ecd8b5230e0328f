#pragma once
#include "command/command.hpp"
#include "job/targets.hpp"

/// `kubectl trainjob wait`: until TrainJobs run, are suspended, stop, complete or fail.
namespace cli {

enum class Goal { complete, failed, running, suspended, stopped };

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
/// ended. One that a queue holds is suspended as well. One that has ended has stopped when its programs have.
Outcome outcome_of(Goal goal, const Brief& job);

/// Fails if this cluster does not tell whether all of them reach the goal: the Pods of a TrainJob that
/// another controller manages, such as MultiKueue, may be in another cluster.
api::Result<> check_goal(Goal goal, const std::vector<Brief>& jobs);

/// Returns what a TrainJob does that is still waited for: its state, with the Pods that are to end, such as
/// "suspended, stopping: 2 of 4 Pods within their grace (22s left); a on n1, b on n2".
std::string what_goes_on(const Brief& job, api::Time now);

}  // namespace cli
