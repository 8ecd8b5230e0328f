#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/train_job.hpp"
#include "runtime/build.hpp"

namespace runtime {

class ActivePlugins;

/// One replicated job of the JobSet to be: the Pods that it is going to have.
struct PodSet {
    std::string name = {};      ///< of the replicated job
    std::string ancestor = {};  ///< the step that it runs: api::ancestor_trainer and so on, or empty
    std::int64_t count = 1;     ///< Pods per replica
    std::int64_t replicas = 1;  ///< Jobs
    std::size_t index = 0;      ///< in `spec.replicatedJobs`
};

/// GPUs that one Pod of the trainer gets.
struct GpuCount {
    std::int64_t count = 0;
    bool known = true;     ///< false: there are resource claims, and they do not tell
    std::string why = {};  ///< they do not: the claim and the reason
};

/// What plugins read and edit: the merged template, not yet the JobSet. Its shape has been checked: what the
/// template has of jobs, Pods, containers, volumes, env, ports and mounts are objects and lists, so that
/// editing never fails.
struct Info {
    const api::TrainJob& job;
    const api::Json& ml_policy;         ///< null if the runtime has none
    const api::Json& pod_group_policy;  ///< likewise
    const api::Json& trainer;           ///< `spec.trainer` of the TrainJob; null means empty
    const ActivePlugins& plugins;       ///< that are on for the runtime

    api::Json spec = {};  ///< JobSetSpec
    api::Json labels = {};
    api::Json annotations = {};
    std::vector<PodSet> pod_sets = {};

    api::Json resources = {};  ///< of the trainer's node container, merged with `resourcesPerNode`
    GpuCount gpus = {};        ///< among these, or behind the claims of the Pod
    std::vector<BuildWarning> warnings = {};
    /// Replace the TrainJob's own when set: plugins never touch the TrainJob.
    std::optional<api::Json> command = {};
    std::optional<api::Json> args = {};

    /// `spec.trainer.numNodes`
    std::optional<std::int64_t> num_nodes() const { return trainer["numNodes"].as_int(); }
    /// The first PodSet that trains; nullptr if there is none.
    PodSet* trainer_pod_set();
    /// nullptr if there is none of that name.
    PodSet* pod_set(std::string_view name);
    /// Of the PodSet's replicated job; made where the template has none, so for writing only.
    api::Json& job_template(const PodSet& pod_set);
    api::Json& pod_template(const PodSet& pod_set);
    api::Json& pod_spec(const PodSet& pod_set);
    /// nullptr if there is none of that name; init containers do not count.
    api::Json* container(const PodSet& pod_set, std::string_view name);
    api::Json* init_container(const PodSet& pod_set, std::string_view name);
    /// By (containerPort, protocol), into the PodSet's container of that name, if it has one. Fails when
    /// another of its ports has the same name.
    api::Result<> upsert_port(const PodSet& pod_set, std::string_view container, api::Json port);
    /// Adds a warning if the GPUs could not be counted; for frameworks that need the number.
    void note_unknown_gpus();
    /// Host name of a Pod within its namespace.
    std::string endpoint(std::string_view pod_set, std::int64_t replica, std::int64_t index) const;
    /// That of the first Pod of the trainer: where masters, coordinators and trackers listen.
    std::string first_endpoint();
};

}  // namespace runtime
