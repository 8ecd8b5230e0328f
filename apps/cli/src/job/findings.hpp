#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "api/time.hpp"
#include "api/train_job.hpp"
#include "job/pods.hpp"
#include "text/terminal.hpp"

/// What the objects around a TrainJob say, in words for users: its Pods, their events, and the Workload of
/// Kueue.
namespace cli {

/// Sorts Pods by Job, then by number.
bool comes_before(const api::Json& a, const api::Json& b);

/// Returns "Running", "Succeeded", ...; "Terminating" for a Pod that is being deleted, as kubectl does.
std::string phase_of(const api::Json& pod);

/// Returns "once", "3 times".
std::string times(std::int64_t count);

/// Returns whether a container waits for this reason in the normal course of things.
bool is_ordinary(std::string_view reason);

/// Returns "exit code 1", "OOMKilled, exit code 137" of the state of a container that has ended.
std::string exit_text(const api::Json& terminated);

/// The beginning of the problem of a Pod that the scheduler has no node for.
inline constexpr std::string_view no_node = "no node: ";

/// Returns why a Pod is on no node: the scheduler's words, or gates; "" if it says nothing.
std::string why_without_node(const api::Json& pod);

/// Returns a Pod's problem in one line; "" if it has none: not scheduled, images, containers that end or
/// restart, an eviction, a node that is silent or does not release it. `events`: those of Pods, which say why
/// volumes are not there.
std::string problem_of(const api::Json& pod, api::Time now, const NodeObjects& nodes = {},
                       const std::vector<api::Json>& events = {});

/// Reads a time stamp. Empty: there is none.
std::optional<api::Time> time_of(const api::Json& stamp);

/// Returns when an event happened; for a series, the latest time.
std::optional<api::Time> time_of_event(const api::Json& event);

/// Events with equal texts: equal events of many Pods count as one with a number.
struct EventLine {
    api::Time last = {};
    std::int64_t count = 0;
    std::string object = {};  ///< "TrainJob"; for a Job or a Pod with the name of the first one
    std::string reason = {};
    std::string message = {};
    bool warning = false;
};

/// Sorted by their last time.
std::vector<EventLine> event_lines_of(const std::vector<api::Json>& events);

/// Returns the queue of Kueue that the TrainJob is in, else that of its JobSet; empty if neither is in one.
std::string queue_of(const api::TrainJob& job, const api::Json& job_set);

/// The position of a TrainJob in its queue, by Kueue's Workload.
struct QueueState {
    std::string text = {};  ///< "waits: couldn't assign flavors ...", "admitted by the ClusterQueue gpus"
    Tone tone = Tone::held;
};

/// `workload`: null if there is none.
QueueState queue_state(const api::Json& workload);

}  // namespace cli
