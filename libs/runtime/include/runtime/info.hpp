#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "api/train_job.hpp"
#include "runtime/build.hpp"
#include "runtime/devices.hpp"

namespace runtime {

class ActivePlugins;

/// The port on which the first Pod listens unless it has the network of its node.
inline constexpr std::int64_t usual_rendezvous_port = 29500;

/// Returns whether a program itself names the usual port: in its command, arguments or variables, of which
/// `overwritten` does not count.
bool names_usual_port(const api::Json& command, const api::Json& args, const api::Json& env,
                      std::string_view overwritten = {});

/// The Pods of one replicated job of the JobSet that is built.
struct PodSet {
    std::string name = {};      ///< of the replicated job
    std::string ancestor = {};  ///< the step that it runs: api::ancestor_trainer and so on, or empty
    std::int64_t count = 1;     ///< Pods per replica
    std::optional<std::int64_t> least = {};  ///< Pods per replica without which it cannot run; unset: all
    std::int64_t replicas = 1;               ///< Jobs
    std::size_t index = 0;                   ///< in `spec.replicatedJobs`
    std::vector<std::int64_t> done = {};     ///< Pods that do not run again, of each Job that has such
};

/// The merged template of a TrainJob, which plugins read and edit before it becomes the JobSet. Its shape has
/// been checked: jobs, Pods, containers, volumes, env, ports and mounts are objects and lists, so that
/// editing never fails.
struct Info {
    const api::TrainJob& job;
    const api::Json& ml_policy;         ///< null if the runtime has none
    const api::Json& pod_group_policy;  ///< null if it has none
    const api::Json& trainer;           ///< `spec.trainer` of the TrainJob; null means empty
    const ActivePlugins& plugins;       ///< the plugins that are on for the runtime

    api::Json spec = {};  ///< JobSetSpec
    api::Json labels = {};
    api::Json annotations = {};
    std::vector<PodSet> pod_sets = {};

    api::Json resources = {};  ///< of the trainer's node container, merged with `resourcesPerNode`
    DeviceCount devices = {};  ///< in these resources, or behind the claims of the Pod
    std::vector<BuildWarning> warnings = {};
    std::vector<api::Json> claims = {};  ///< volume claims that the TrainJob is to own
    /// Override the TrainJob's own if they are set: plugins do not change the TrainJob.
    std::optional<api::Json> command = {};
    std::optional<api::Json> args = {};

    /// `spec.trainer.numNodes`
    std::optional<std::int64_t> num_nodes() const { return trainer["numNodes"].as_int(); }
    /// Returns the first PodSet that trains; nullptr if there is none.
    PodSet* trainer_pod_set();
    /// Returns the PodSet of that name; nullptr if there is none.
    PodSet* pod_set(std::string_view name);
    /// Returns the Pod template's member of the PodSet's replicated job, and creates it if it is missing; so
    /// for writing only.
    api::Json& job_template(const PodSet& pod_set);
    api::Json& pod_template(const PodSet& pod_set);
    api::Json& pod_spec(const PodSet& pod_set);
    /// Returns the container of that name; nullptr if there is none. Init containers do not count.
    api::Json* container(const PodSet& pod_set, std::string_view name);
    api::Json* init_container(const PodSet& pod_set, std::string_view name);
    /// Adds or replaces a port by (containerPort, protocol), in the PodSet's container of that name, if it
    /// has one. Fails if another of its ports has the same name.
    api::Result<> upsert_port(const PodSet& pod_set, std::string_view container, api::Json port);
    /// Declares rendezvous_port() in the PodSet's node container, if it has one. It replaces the usual port,
    /// which a runtime may declare as well, unless the program names that one. Fails as upsert_port() does.
    api::Result<> declare_rendezvous_port(const PodSet& pod_set);
    /// Adds a warning if the number of devices is unknown; for frameworks that need it.
    void note_unknown_devices();
    /// Returns the host name of a Pod within its namespace.
    std::string endpoint(std::string_view pod_set, std::int64_t replica, std::int64_t index) const;
    /// Returns the host name of the first Pod of the trainer, on which masters, coordinators and trackers
    /// listen.
    std::string first_endpoint();
    /// Returns the port on which they listen: the usual one, or in Pods with their node's network one of the
    /// TrainJob's own, since there only one Pod of a node can have a port.
    std::int64_t rendezvous_port(const PodSet& pod_set) const;
};

}  // namespace runtime
