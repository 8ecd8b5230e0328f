#pragma once
#include "cluster/session.hpp"
#include "command/command.hpp"

/// `kubectl trainjob list`: the TrainJobs of a namespace or of all namespaces, one line each.
namespace cli {

enum class ListFormat { table, wide, json, yaml, name };

struct ListSettings {
    ClusterSettings cluster = {};
    bool all_namespaces = false;
    std::string selector = {};
    std::string runtime = {};  ///< only those of the runtime with this name
    ListFormat format = ListFormat::table;
    bool watch = false;
    std::chrono::milliseconds interval{1'000};  ///< of `watch`
};

/// `settings` must outlive the options.
void add_options(net::Options& options, ListSettings& settings);

/// With `watch` it prints by itself until the output cannot be written: on a terminal the whole table after
/// each change, in a pipe only changed rows.
api::Result<Output> list(const ListSettings& settings);
Command list_command();

/// Prints the list, and its changes for as long as the output can be written. It watches TrainJobs, and
/// looks at their Pods after changes and every ten seconds.
kube::Async<Output> watch_list(Session& session, const ListSettings& settings);

}  // namespace cli
