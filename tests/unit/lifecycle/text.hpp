#pragma once
#include <catch2/catch.hpp>
#include <span>
#include <string>

#include "lifecycle/conclusion.hpp"
#include "support/printers.hpp"

/// Short sentences to compare with, and to read when a check fails.
namespace lifecycle {

/// "run: resume", "finish Failed/DeadlineExceeded", "finish Failed/FailedJobs, judges",
/// "finish Failed/ProgressDeadlineExceeded, judges the hang", ...
std::string text(const Decision& decision);
/// "Suspended=False/Resumed Created=True/JobsCreationSucceeded"
std::string text(std::span<const api::Condition> conditions);
/// "Warning JobsBuildFailed, Normal JobSetDeleted"
std::string text(std::span<const Event> events);
/// "node: 1 ready 1 active"; zeros are left out.
std::string text(std::span<const api::JobStatus> jobs);

}  // namespace lifecycle
