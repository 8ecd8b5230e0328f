#pragma once
#include "command/command.hpp"
#include "job/targets.hpp"

/// `kubectl trainjob suspend` and `kubectl trainjob resume`.
namespace cli {

struct SuspendSettings {
    ClusterSettings cluster = {};
    Targets targets = {};
};
struct ResumeSettings : SuspendSettings {};

/// `settings` must outlive the options.
void add_options(net::Options& options, SuspendSettings& settings);
void add_options(net::Options& options, ResumeSettings& settings);

/// Prints a line for each TrainJob. Status 1 if one of them could not be changed and is in the wrong state.
api::Result<Output> suspend(const SuspendSettings& settings);
api::Result<Output> resume(const ResumeSettings& settings);
Command suspend_command();
Command resume_command();

/// The action for one TrainJob.
struct Suspension {
    enum class Step { patch, nothing, refuse };
    Step step = Step::nothing;
    std::string text = {};  ///< completes a sentence that begins with its name
};

Suspension suspension_of(const Brief& job, bool suspend);

}  // namespace cli
