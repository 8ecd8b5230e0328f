#pragma once
#include "cluster/session.hpp"
#include "list/list.hpp"

namespace cli {

/// Prints the list, and its changes for as long as the output can be written. It watches TrainJobs, so an
/// idle list causes no requests.
kube::Async<net::Output> watch_list(Session& session, const ListSettings& settings);

}  // namespace cli
