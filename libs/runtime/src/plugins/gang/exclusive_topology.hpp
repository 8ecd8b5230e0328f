#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "runtime/info.hpp"

/// JobSet creates one Pod of a Job with its annotation for exclusive topology, and the others once that has a
/// node. Some gang schedulers give no Pod a node before all are there.
namespace runtime {

inline constexpr std::string_view exclusive_topology = "alpha.jobset.sigs.k8s.io/exclusive-topology";
/// With it nodes are labelled beforehand, and all Pods are created at once.
inline constexpr std::string_view labelled_nodes = "alpha.jobset.sigs.k8s.io/node-selector";

/// Returns whether a JobSet or a job with these annotations waits for its first Pods; null: it has none.
bool waits_for_first_pod(const api::Json& exclusive_topology, const api::Json& labelled_nodes);

/// Returns a warning if the runtime's gang scheduler and JobSet wait for each other; else "". `all_jobs`: the
/// JobSet itself has the annotation.
std::string exclusive_gang_warning(const api::Json& runtime, const api::Json& job_set_spec, bool all_jobs,
                                   const std::vector<PodSet>& pod_sets);

}  // namespace runtime
