#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/time.hpp"

/// What the Pods of a TrainJob do: the one answer for `list`, `explain`, `wait` and `timeline`.
namespace cli {

/// NodeObjects by name, as the API server has them; null: the node is gone.
using NodeObjects = std::map<std::string, api::Json>;

/// A node of which nothing is heard.
struct Silence {
    std::string node = {};
    api::Time since = {};
    std::string message = {};  ///< the cluster's words; empty: the node itself was not read
};

/// Returns since when the node of a Pod prepares its volumes and its network, which come before its images.
std::optional<api::Time> setup_of(const api::Json& pod);

/// What that takes if all is well, and the words for a Pod that waits for longer.
inline constexpr std::chrono::seconds longest_setup{30};
inline constexpr std::string_view setup_takes_long = "its volumes or its network are not ready";

/// Returns the silence of the Pod's node, by the node's condition Ready if it is among `nodes`. Else by the
/// Pod: the cluster takes the Pod's own Ready away and leaves that of its containers, which the node would
/// write.
std::optional<Silence> silence_of(const api::Json& pod, const NodeObjects& nodes = {});

/// What happens inside one Pod. Of a restarted program: it fails until it runs for longer than the attempt
/// before, by a minute, or for five minutes, the longest pause between attempts.
enum class PodDoes : std::uint8_t { wait, run, succeeded, fail, cannot_start, lost };

/// The part of a Pod that counts for its TrainJob.
struct PodFacts {
    api::ObjectKey train_job = {};  ///< the JobSet has the name of its TrainJob
    std::string name = {};
    std::string node = {};
    std::string job = {};    ///< the Job
    std::string index = {};  ///< its number in the Job
    PodDoes does = PodDoes::wait;
    bool ended = false;  ///< its phase is Succeeded or Failed
    bool is_ready = false;
    bool trains = true;  ///< it is no initializer
    std::int64_t restarts = 0;
    std::string cause = {};              ///< "exit code 1", or why it cannot start
    std::chrono::seconds lasted{0};      ///< the attempt that failed last
    std::optional<api::Time> runs = {};  ///< since when
    api::Time created = {};
    std::optional<api::Time> deletion = {};  ///< if it was told to end: when its grace is over
};

PodFacts pod_facts(const api::Json& pod, api::Time now, const NodeObjects& nodes = {});

/// What the Pods of one TrainJob do, by those that matter most.
enum class PodsDo : std::uint8_t { unknown, wait, run, fail, cannot_start, lost };

struct PodsState {
    PodsDo what = PodsDo::unknown;
    bool is_read = false;         ///< by Pods or Jobs, and not by the status of the TrainJob
    std::string detail = {};      ///< "3 of 6, exit code 1", "its image cannot be pulled", the lost node
    std::int64_t ready = 0;       ///< training Pods
    std::int64_t unfinished = 0;  ///< Pods whose programs may run
    std::vector<std::string> names = {};       ///< of the first three of these, with their nodes
    std::int64_t ending = 0;                   ///< of these, those that were told to end
    std::optional<api::Time> grace_ends = {};  ///< the latest of theirs
    bool is_late = false;                      ///< it is over, and they should have ended
};

/// The retries of Jobs by name: `spec.backoffLimit`.
using BackoffLimits = std::map<std::string, std::int64_t>;

/// Returns whether a Pod is from before the TrainJob's creation: one of an earlier TrainJob of the same name.
bool is_of_namesake(const api::Json& pod, api::Time job_created);

/// The Pods of a namesake count for nothing.
PodsState pods_state(std::vector<PodFacts> pods, api::Time job_created, const BackoffLimits& limits,
                     api::Time now);

/// A Pod's end may be reported that late: its node first has to notice it.
inline constexpr std::chrono::seconds late_end{15};

}  // namespace cli
