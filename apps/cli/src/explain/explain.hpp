#pragma once
#include <chrono>
#include <string>

#include "cluster/cluster.hpp"
#include "command/command.hpp"

/// `kubectl trainjob explain`: describes one TrainJob of a cluster, with the permissions of the kubeconfig's
/// user.
namespace cli {

enum class ExplainFormat { text, json, yaml };

struct ExplainSettings {
    std::string train_job = {};  ///< NAMESPACE/NAME, or a name
    ClusterSettings cluster = {};
    ExplainFormat format = ExplainFormat::text;
    api::ObjectKey lease = {"kubeflow-system", "trainer.kubeflow.org"};  ///< of the reconcilers
    bool watch = false;
    std::chrono::milliseconds interval{2'000};  ///< of `watch`
};

/// `settings` must outlive the options.
void add_options(net::Options& options, ExplainSettings& settings);

/// Describes one TrainJob on one screen. With `watch` it prints by itself after each change, until the
/// TrainJob is deleted. Uses colours only on a terminal, without $NO_COLOR. Status 1 if the TrainJob cannot
/// be read, for example because there is none. Fails on an invalid name and on a kubeconfig that cannot be
/// used.
api::Result<Output> explain(const ExplainSettings& settings);
Command explain_command();

}  // namespace cli
