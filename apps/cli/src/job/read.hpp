#pragma once
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

/// Reads the number of ready nodes of TrainJobs whose status does not show it, from their Jobs. `notes` as
/// above.
kube::Async<> read_ready_nodes(kube::ApiServer& server, std::vector<Brief>& jobs,
                               std::vector<std::string>& notes);

/// Calls all three.
kube::Async<std::vector<Brief>> read_overview(kube::ApiServer& server, Selection selection,
                                              std::vector<std::string>& notes);

}  // namespace cli
