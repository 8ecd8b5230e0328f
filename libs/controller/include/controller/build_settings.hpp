#pragma once
#include <optional>
#include <string>

#include "api/object_key.hpp"
#include "controller/reconcile/progress_settings.hpp"
#include "net/process/option_types.hpp"
#include "net/process/options.hpp"
#include "runtime/gates.hpp"
#include "runtime/pipeline.hpp"

namespace controller {

/// The namespace outside of a Pod, unless an option sets one.
inline constexpr const char* default_namespace = "kubeflow-system";

/// Options that change the objects of TrainJobs.
struct BuildSettings {
    net::FeatureGates feature_gates = {};
    runtime::DeviceTable accelerators = {};
    runtime::GangSchedulers gang_schedulers = {};
    std::string status_url = {};  ///< empty, as the next: see status_server_of()
    api::ObjectKey status_ca_secret = {};
};

/// Adds the options; `settings` must outlive `options`.
void add_options(net::Options& options, BuildSettings& settings);

/// Checks combinations that the types of the options cannot exclude.
api::Result<> check(const BuildSettings& settings);

/// Returns the address for reports of trainers; nullopt while the gate TrainJobStatus is off. `pod_namespace`
/// is empty outside of a Pod.
std::optional<runtime::StatusServer> status_server_of(const BuildSettings& settings,
                                                      const std::string& pod_namespace);

/// Returns what the pipeline of these settings has. `pod_namespace` as above.
runtime::Features features_of(const BuildSettings& settings, const std::string& pod_namespace);

/// Returns what the gates TrainJobStatus and TrainJobProgressDeadline turn on. The Lease of the server is in
/// the namespace of its Secret. `pod_namespace` as above.
ProgressSettings progress_settings_of(const BuildSettings& settings, const std::string& pod_namespace);

}  // namespace controller
