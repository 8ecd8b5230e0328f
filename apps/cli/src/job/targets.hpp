#pragma once
#include "cluster/session.hpp"
#include "job/read.hpp"

namespace cli {

/// The TrainJobs of a command: named ones, or those with labels, or all of the namespace.
struct Targets {
    std::vector<std::string> names = {};
    bool all = false;
    std::string selector = {};

    bool named() const { return !names.empty(); }
};

/// `what`: a verb for --help, as in "suspend". `targets` must outlive the options.
void add_options(net::Options& options, Targets& targets, const std::string& what);

/// Adds --all-namespaces and --selector, for commands without names. Both must outlive the options.
void add_options(net::Options& options, bool& all_namespaces, std::string& selector);

/// Fails unless exactly one of names and (labels or all) is given. Needs no cluster.
api::Result<> check_targets(const Targets& targets);

/// `ns`: the namespace of the session.
api::Result<Selection> selection_of(const Targets& targets, const ClusterSettings& cluster,
                                    const std::string& ns);

/// Returns "trainjob.trainer.kubeflow.org/NAME", as kubectl prints objects.
std::string printed_name(const Brief& job);

}  // namespace cli
