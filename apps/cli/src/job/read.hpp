#pragma once
#include <set>
#include <string>
#include <vector>

#include "job/brief.hpp"
#include "kube/client/api_server.hpp"

namespace cli {

/// Selects TrainJobs: those with these names, or else those of the namespace (empty: all namespaces) with
/// these labels.
struct Selection {
    std::string ns = {};
    std::string labels = {};
    std::vector<api::ObjectKey> keys = {};
};

/// Reads the runtimes that TrainJobs of the namespace may name. For a list that is forbidden or missing,
/// `notes` gets a sentence about the unknown values.
kube::Async<Runtimes> read_runtimes(kube::ApiServer& server, std::string ns, std::vector<std::string>& notes);

/// Reads the TrainJobs, a page at a time. Fails with a remedy (advised()) if one of `keys` is missing.
kube::Async<std::vector<Brief>> read_jobs(kube::ApiServer& server, Selection selection,
                                          const Runtimes& runtimes);

/// Which Pods to look at.
struct PodsQuery {
    api::Time now = {};
    bool nodes = false;  ///< also read the nodes that seem silent, if that is allowed
    bool all = false;    ///< of every TrainJob that runs or stands still
    /// Pods themselves are needed: Jobs do not count instead. They go before their Pods when a TrainJob is
    /// deleted, and those of which a Pod has succeeded are not read.
    bool only_pods = false;
};

/// Reads what the Pods of TrainJobs do, by one list of Pods and one of Jobs for all: of those whose status
/// does not show it, and, if there are at most 60 with 500 nodes, of those that run or have stopped within an
/// hour. No requests if there are none. Of 20 that wait, the scheduler's words become the message. `notes` as
/// above; without Pods their Jobs count. Fails only if Pods are needed, and the reason why they cannot be
/// read does not pass by itself.
kube::Async<> read_pods(kube::ApiServer& server, std::vector<Brief>& jobs, PodsQuery query,
                        std::vector<std::string>& notes);

/// Adds to Pods of one TrainJob without a node what the objects of gang schedulers say of them.
kube::Task<> add_scheduling_problems(kube::ApiServer& server, std::string ns, std::vector<api::Json>& pods);

/// Reads these nodes, eight at most, until one is forbidden.
kube::Task<NodeObjects> read_nodes(kube::ApiServer& server, std::set<std::string> names);

}  // namespace cli
