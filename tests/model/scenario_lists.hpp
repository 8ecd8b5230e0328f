#pragma once
#include "acts.hpp"
#include "scenarios.hpp"

/// The scenarios by topic; scenarios() has all of them.
namespace model {

std::vector<Scenario> beginnings_and_ends();
std::vector<Scenario> runtimes();
std::vector<Scenario> refusals();
std::vector<Scenario> reuse();
std::vector<Scenario> suspending();
std::vector<Scenario> time_limits();
std::vector<Scenario> run_policies();
std::vector<Scenario> attempts();
std::vector<Scenario> progress_deadlines();
std::vector<Scenario> other_objects();
std::vector<Scenario> takeovers();
std::vector<Scenario> changes();
std::vector<Scenario> queues();
std::vector<Scenario> forgeries();

/// If nothing fails, its JobSet exists at that time.
Scenario prompt(Scenario scenario, std::chrono::seconds by);
/// A label is withdrawn from a TrainJob that is suspended, and then resumed.
Scenario label_withdrawn(std::string name, Tweak runtime = {});
/// Reconcilers start at that time.
Scenario taken_over(Scenario scenario, std::chrono::seconds from);
/// An object of another owner may block it for a moment.
Scenario refusable(Scenario scenario);

/// Ends that many scenarios have.
namespace ends {

inline const char* const completed = "+AllJobsCompleted; finished; snapshot; 0 active";
inline const char* const resumed_and_completed = "-Resumed +AllJobsCompleted; finished; snapshot; 0 active";
inline const char* const gone = "gone; no JobSet; no snapshot; 0 active";
inline const char* const running = "+JobsCreationSucceeded; running; snapshot; 1 active";
inline const char* const resumed_and_running = "-Resumed +JobsCreationSucceeded; running; snapshot; 1 active";
inline const char* const held = "+JobsCreationSucceeded +Suspended; suspended; snapshot; 0 active";
inline const char* const overdue = "+DeadlineExceeded; no JobSet; snapshot; 0 active";
inline const char* const overdue_before_anything = "+DeadlineExceeded; no JobSet; no snapshot; 0 active";
/// There is a snapshot, but the status does not have its digest, and the runtime is gone: it could be
/// anybody's.
inline const char* const unvouched = "-JobsBuildFailed; no JobSet; snapshot; 0 active";
inline const char* const no_runtime = "-JobsBuildFailed; no JobSet; no snapshot; 0 active";

}  // namespace ends

}  // namespace model
