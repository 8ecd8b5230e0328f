#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "api/field_error.hpp"
#include "runtime/active_plugins.hpp"
#include "runtime/build.hpp"
#include "runtime/conditions.hpp"
#include "runtime/info.hpp"
#include "runtime/kueue_types.hpp"
#include "runtime/shape.hpp"

namespace runtime {

inline constexpr std::string_view ml_policy_group = "mlPolicy";
inline constexpr std::string_view pod_group_policy_group = "podGroupPolicy";

/// The member of a runtime's `spec` that turns a plugin on, and what others do where it is on.
struct Policy {
    std::string_view group = {};       ///< ml_policy_group or pod_group_policy_group
    std::string_view member = {};      ///< "mpi"
    const Shape* shape = &any_object;  ///< of the member: checked before any hook sees it
    bool needs_host_names = false;     ///< runtimes must have host names and indices of Pods
    bool counts_gpus = false;          ///< claims are read, so that Info::gpus is known
    bool places_env = false;           ///< puts `spec.trainer.env` after its own variables itself
    /// A kind of which build() makes one object under the TrainJob's name: watched, as metadata, where the
    /// cluster serves it. nullptr: none.
    const api::Resource* owned_kind = nullptr;
    std::string_view scaled_job = {};  ///< which `spec.trainer.numNodes` scales; empty: that which trains
};

/// What a plugin's admission rules look at: a TrainJob with its runtime.
struct ValidationInputs {
    const api::TrainJob& job;
    const api::Json& runtime;
    const api::Json&
        merged_spec;  ///< `template.spec` of the runtime with the TrainJob's patches; null if they fail
    const ActivePlugins& plugins;
    const std::vector<api::Json>* observed = nullptr;  ///< nullptr: nothing has been read
};

/// What a plugin's needs follow from.
struct NeedsContext {
    const api::TrainJob& job;
    const api::Json& runtime;
    const api::Json& merged_spec;  ///< as in ValidationInputs
    const std::vector<api::Json>& observed;
};

/// One concern of turning a TrainJob into objects: a framework, a way of gang scheduling. Every hook does
/// nothing by default. Plugins have settings at most, and no state: one instance serves every TrainJob, on
/// any thread. The hooks run one after the other, each for all plugins in the order of the pipeline. A hook
/// of a plugin with a policy runs only for runtimes that have the policy, but for those of conditions.
class Plugin {
public:
    virtual ~Plugin() = default;
    virtual std::string_view name() const = 0;
    /// nullptr: the plugin is on for every runtime.
    virtual const Policy* policy() const { return nullptr; }
    /// The policy's value in a runtime; null if there is none.
    const api::Json& policy_of(const api::Json& runtime) const;
    /// Whether the hooks run for a runtime.
    bool is_on(const api::Json& runtime) const;

    /// Returns the Pods of the policy's `scaled_job` for `spec.trainer.numNodes`.
    virtual std::int64_t scaled_pods(const api::Json& /*policy*/, std::int64_t num_nodes) const {
        return num_nodes;
    }
    /// Returns whether a job without the trainer's label gets `env` and `resourcesPerNode` of `spec.trainer`.
    virtual bool also_trains(const api::Json& /*policy*/, std::string_view /*job*/) const { return false; }
    /// Returns whether a job takes `spec.trainer.numProcPerNode`.
    virtual bool takes_processes(const api::Json& /*replicated_job*/) const { return false; }

    /// Adds what must be observed before build. Depends on the context and nothing else.
    virtual void add_needs(const NeedsContext&, Needs&) const {}
    /// Adds what validate() must be shown if it exists. TrainJobs cannot change what it follows from.
    virtual void add_review_needs(const api::Json& /*runtime*/, std::vector<Need>&) const {}
    /// The admission rules that validate() checks. Its errors are of the first where they say no other.
    virtual std::span<const api::RuleId> rules() const { return {}; }
    /// Adds what is wrong with a TrainJob, besides what concerns every one of them.
    virtual void validate(const ValidationInputs&, api::FieldErrors&) const {}
    /// Adds what is wrong with a runtime.
    virtual void validate_runtime(const api::Json& /*runtime*/, api::FieldErrors&) const {}
    /// Returns why Kueue, which has Kubeflow Trainer's library, cannot build a TrainJob; "" if it can.
    virtual std::string kueue_obstacle(const ValidationInputs&, KueueTypes) const { return {}; }

    /// Counts, environment, ports, volumes and commands of a framework.
    virtual api::Result<> enforce_ml_policy(const Inputs&, Info&) const { return {}; }
    /// Labels and annotations that make Pods a gang.
    virtual api::Result<> enforce_pod_group_policy(const Inputs&, Info&) const { return {}; }
    /// What the Pods of any framework get.
    virtual api::Result<> enforce_pod_spec(const Inputs&, Info&) const { return {}; }
    /// Appends objects, complete but for what every one of them gets (namespace, owner). Counts are final
    /// here.
    virtual api::Result<> build(const Inputs&, Info&, Built&) const { return {}; }

    /// Whether it has conditions to add: the next two are asked only then.
    virtual bool has_conditions() const { return false; }
    /// Adds what add_conditions() must be shown if it exists, in every pass.
    virtual void add_condition_needs(const api::TrainJob&, std::vector<Need>&) const {}
    /// Adds conditions of its own to the TrainJob's status, also while the JobSet runs. One that is not added
    /// any more stays as it was.
    virtual void add_conditions(const ConditionsContext&, std::vector<api::Condition>&) const {}
};

}  // namespace runtime
