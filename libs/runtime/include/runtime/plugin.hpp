#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "api/field_error.hpp"
#include "api/warnings.hpp"
#include "runtime/active_plugins.hpp"
#include "runtime/build.hpp"
#include "runtime/conditions.hpp"
#include "runtime/info.hpp"
#include "runtime/pipeline.hpp"
#include "runtime/shape.hpp"

namespace runtime {

inline constexpr std::string_view ml_policy_group = "mlPolicy";
inline constexpr std::string_view pod_group_policy_group = "podGroupPolicy";
inline constexpr std::string_view run_policy_group = "runPolicy";

/// How long objects of a kind that a plugin owns stay while their TrainJob does.
enum class OwnedFor : std::uint8_t {
    job,     ///< for good
    policy,  ///< until a JobSet is written from a runtime without the policy
    run      ///< while Pods may run: ApplyPolicy::for_run or during_run
};

/// A number of a policy and its minimum, which is also the schema's.
struct NumberBound {
    std::string_view path;  ///< below the policy
    std::int64_t least = 0;
};

/// The member of a runtime's `spec` that turns a plugin on, and properties of the plugin that other parts
/// need.
struct Policy {
    std::string_view group = {};                ///< one of those above; empty: `spec` itself
    std::string_view member = {};               ///< "relay"
    const Shape* shape = &any_object;           ///< of the member: checked before any hook reads it
    bool is_setting = false;                    ///< the member is `true` or a text, and no object
    std::span<const NumberBound> numbers = {};  ///< all of them; a value that is no number has no bound
    bool needs_host_names = false;              ///< runtimes must have host names and indices of Pods
    bool counts_devices = false;                ///< claims are read, so that Info::devices is known
    bool places_env = false;  ///< the plugin itself places `spec.trainer.env` after its own variables
    /// A kind of which build() makes one object under the TrainJob's name. It is watched, as metadata, in
    /// clusters that serve it. nullptr: none.
    const api::Resource* owned_kind = nullptr;
    OwnedFor owned_for = OwnedFor::job;
    bool marks_runs = false;  ///< what is built differs from one resume of a TrainJob to the next
    std::string_view added_container =
        {};                               ///< an init container that the plugin adds, which patches may name
    std::string_view added_to = {};       ///< the job whose Pods get it
    std::string_view scaled_job = {};     ///< the job of `spec.trainer.numNodes`; empty: the one that trains
    bool wraps_program = false;           ///< the plugin's own program starts that of the TrainJob
    std::string_view port_variable = {};  ///< tells the program Info::rendezvous_port(); empty: none does
};

/// The input of a plugin's admission rules: a TrainJob with its runtime.
struct ValidationInputs {
    const api::TrainJob& job;
    const api::Json& runtime;
    const api::Json& merged_spec;  ///< `template.spec` of the runtime with the TrainJob's patches; null if
                                   ///< they cannot be merged
    const ActivePlugins& plugins;
    const std::vector<api::Json>* observed = nullptr;  ///< nullptr: not read
    bool is_new = true;  ///< whether rules for new TrainJobs apply: it is new, or may be changed in any way
};

/// The input of a plugin's needs.
struct NeedsContext {
    const api::TrainJob& job;
    const api::Json& runtime;
    const api::Json& merged_spec;  ///< as in ValidationInputs
    const std::vector<api::Json>& observed;
};

/// Objects of one kind in a TrainJob's namespace, by selectors as the API server reads them.
struct RelatedObjects {
    api::Resource resource = {};
    std::string labels = {};
    std::string fields = {};
};

/// One concern of turning a TrainJob into objects: a framework, a way of gang scheduling. Every hook does
/// nothing by default. Plugins have settings at most, and no state: one instance is used for every TrainJob,
/// on any thread. The hooks run one after the other, each for all plugins in the order of the pipeline. A
/// hook of a plugin with a policy runs only for runtimes with that policy, except the hooks of explanations.
class Plugin {
public:
    virtual ~Plugin() = default;
    virtual std::string_view name() const = 0;
    /// Returns the policy; nullptr: the plugin is on for every runtime.
    virtual const Policy* policy() const { return nullptr; }
    /// Returns the policy's value in a runtime; null if there is none.
    const api::Json& policy_of(const api::Json& runtime) const;
    /// Returns whether the hooks run for a runtime.
    bool is_on(const api::Json& runtime) const;

    /// Returns the Pods of the policy's `scaled_job` for `spec.trainer.numNodes`.
    virtual std::int64_t scaled_pods(const api::Json& /*policy*/, std::int64_t num_nodes) const {
        return num_nodes;
    }
    /// Returns the nodes without which the training cannot run; nullopt: it needs all.
    virtual std::optional<std::int64_t> least_nodes(const api::Json& /*policy*/) const {
        return std::nullopt;
    }
    /// Returns whether a job without the trainer's label gets `env` and `resourcesPerNode` of `spec.trainer`.
    virtual bool also_trains(const api::Json& /*policy*/, std::string_view /*job*/) const { return false; }
    /// Returns whether a job without the trainer's label runs the program, and so gets `spec.trainer.image`.
    virtual bool also_runs_program(const api::Json& /*policy*/, std::string_view /*job*/) const {
        return false;
    }
    /// Returns whether processes of the program run in a job without the trainer's label, wherever its image
    /// is from.
    virtual bool also_has_processes(const api::Json& policy, std::string_view job) const {
        return also_runs_program(policy, job);
    }
    /// Returns whether `spec.trainer.numProcPerNode` has an effect on a job.
    virtual bool takes_processes(const api::Json& /*policy*/, const api::Json& /*replicated_job*/) const {
        return false;
    }

    /// Returns whether what is built for `spec.trainer` depends on the number of a Pod's devices.
    virtual bool depends_on_devices(const api::Json& /*policy*/, const api::Json& /*trainer*/) const {
        return false;
    }

    /// Adds to the Pods of the merged template what the policy gives them before anything is counted or
    /// checked.
    virtual void complete_template(const api::Json& /*runtime*/, const ActivePlugins&,
                                   api::Json& /*job_set_spec*/) const {}

    /// Returns the claims, objects with a `name`, that all nodes of a TrainJob share.
    virtual const api::Json& shared_claims(const api::Json& policy) const;

    /// Adds the objects that must be observed before build. Depends on the context alone.
    virtual void add_needs(const NeedsContext&, Needs&) const {}
    /// Adds the objects that validate() needs if they exist. They follow from fields that TrainJobs cannot
    /// change.
    virtual void add_review_needs(const api::Json& /*runtime*/, std::vector<Need>&) const {}
    /// Returns the admission rules that validate() checks. An error without a rule is of the first one.
    virtual std::span<const api::RuleId> rules() const { return {}; }
    /// Adds the errors of a TrainJob that concern this plugin.
    virtual void validate(const ValidationInputs&, api::FieldErrors&) const {}
    /// Adds the errors of a runtime that concern this plugin.
    virtual void validate_runtime(const api::Json& /*runtime*/, const ActivePlugins&,
                                  api::FieldErrors&) const {}
    /// Returns the rules of the warnings of the next two hooks, without those of `Rule`. Several plugins may
    /// have the same rule. A warning without a rule is of the first one.
    virtual std::span<const api::RuleId> warning_rules() const { return {}; }
    /// Adds warnings about a TrainJob that concern this plugin. Runs if rules for new TrainJobs apply, and if
    /// the patches of the TrainJob can be merged. `observed` is not read.
    virtual void add_warnings(const ValidationInputs&, api::Warnings&) const {}
    /// Adds warnings about a runtime that concern this plugin. Those that the runtime had before an UPDATE
    /// are left out, and of a runtime with errors those of Rule::replaced_failure_handling.
    virtual void add_runtime_warnings(const api::Json& /*runtime*/, const ActivePlugins&,
                                      api::Warnings&) const {}

    /// Sets counts, environment, ports, volumes and commands of a framework.
    virtual api::Result<> enforce_ml_policy(const Inputs&, Info&) const { return {}; }
    /// Sets labels and annotations that make Pods a gang.
    virtual api::Result<> enforce_pod_group_policy(const Inputs&, Info&) const { return {}; }
    /// Edits the Pods of any framework.
    virtual api::Result<> enforce_pod_spec(const Inputs&, Info&) const { return {}; }
    /// Appends objects without the parts that all of them get (namespace, owner). Counts are final here.
    virtual api::Result<> build(const Inputs&, Info&, Built&) const { return {}; }

    /// Returns whether Pods of a JobSet cannot start without the object of `owned_kind`, whatever the runtime
    /// is now.
    virtual bool pods_wait_for_owned(const api::Json& /*job_set*/) const { return false; }

    /// The types of all conditions that add_conditions() can add.
    virtual std::span<const std::string_view> condition_types() const { return {}; }
    /// Adds conditions to the TrainJob's status, also while the JobSet runs: what follows from objects that
    /// every reconcile has at hand. A condition of condition_types() that no plugin adds is removed.
    virtual void add_conditions(const ConditionsContext&, std::vector<api::Condition>&) const {}

    /// Returns objects that show why some of a TrainJob's Pods have no node; nullopt: none. For explanations
    /// only, whatever the runtime is.
    virtual std::optional<RelatedObjects> related_objects(const std::vector<api::Json>& /*pods*/) const {
        return std::nullopt;
    }
    /// Adds conditions to Pods without a node: the reason that related_objects() show.
    virtual void add_scheduling_problems(std::vector<api::Json>& /*pods*/,
                                         const std::vector<api::Json>& /*related*/) const {}
};

}  // namespace runtime
