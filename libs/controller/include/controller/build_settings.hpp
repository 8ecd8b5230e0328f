#pragma once
#include <optional>
#include <string>

#include "api/object_key.hpp"
#include "net/process/option_types.hpp"
#include "net/process/options.hpp"
#include "runtime/gates.hpp"
#include "runtime/pipeline.hpp"

namespace controller {

/// The namespace that is meant where neither a Pod nor an option names one.
inline constexpr const char* default_namespace = "kubeflow-system";

/// Options that change what TrainJobs become.
struct BuildSettings {
    net::FeatureGates feature_gates = {};
    std::string status_url = {};  ///< empty, as the next: see status_server_of()
    api::ObjectKey status_ca_secret = {};
};

/// The table of options; `settings` must outlive it.
void add_options(net::Options& options, BuildSettings& settings);

/// Checks what the types of the options cannot say.
api::Result<> check(const BuildSettings& settings);

/// Where trainers report their progress; nullopt while the gate TrainJobStatus is off. `pod_namespace` is
/// empty outside of a Pod.
std::optional<runtime::StatusServer> status_server_of(const BuildSettings& settings,
                                                      const std::string& pod_namespace);

}  // namespace controller
